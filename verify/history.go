package verify

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
)

// maxLine bounds a line: ids, topic, key, stream and reason, with room to spare.
const maxLine = 1 << 20

// Records reads a history record by record, and skips empty lines. It ends at the first error, a [*LineError] where
// a line is at fault: a history with a hole proves nothing.
func Records(history io.Reader) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		lines := bufio.NewScanner(history)
		lines.Buffer(make([]byte, 0, 64<<10), maxLine)
		n := 0
		for lines.Scan() {
			n++
			text := bytes.TrimSpace(lines.Bytes())
			if len(text) == 0 {
				continue
			}
			var r Record
			if err := r.UnmarshalJSON(text); err != nil {
				yield(Record{}, &LineError{n, err})
				return
			}
			if !yield(r, nil) {
				return
			}
		}
		switch err := lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			yield(Record{}, &LineError{n + 1, fmt.Errorf("%w: longer than %d bytes", ErrMalformed, maxLine)})
		case err != nil:
			yield(Record{}, fmt.Errorf("read the history: %w", err))
		}
	}
}

// Writer writes a history; any number of goroutines may use it. Each record is written to the writer beneath by one
// call, so that a process that is killed leaves whole lines in a file.
type Writer struct {
	mu sync.Mutex
	to io.Writer
}

// NewWriter returns a Writer that writes to to.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

// Write writes one record, or returns a [*RecordError].
func (w *Writer) Write(r Record) error {
	b, err := r.MarshalJSON()
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.to.Write(append(b, '\n'))
	return err
}
