// Package testoutput keeps what a program or a log under test writes, for tests that read it meanwhile.
package testoutput

import (
	"strings"
	"sync"
)

// Buffer keeps what is written to it. The zero value is empty. It is safe for concurrent use.
type Buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write never fails.
func (b *Buffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

// String is all that was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
