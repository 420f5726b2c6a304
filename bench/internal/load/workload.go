package load

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"

	"github.com/google/uuid"
)

// minSize is the room that a body needs for its two numbers.
const minSize = 20

// Workload is what a subject has to carry.
type Workload struct {
	Messages int    `json:"messages"`
	Keys     int    `json:"keys"`             // chosen at random
	Size     int    `json:"size"`             // of a body, in bytes
	Spread   string `json:"spread,omitempty"` // how keys are chosen, Even or Zipf
}

// How keys are chosen.
const (
	Even = ""     // each is as likely as any other
	Zipf = "zipf" // the nth is about n^1.1 times less likely than the first, as in much of what people do
)

// Message is one message of a workload.
type Message struct {
	ID   uuid.UUID
	Key  string
	Body []byte
}

// Check reports what is wrong with the workload.
func (w Workload) Check() error {
	switch {
	case w.Messages < 1 || w.Messages > 99_999_999:
		return fmt.Errorf("messages must be 1 to 99 999 999, not %d", w.Messages)
	case w.Keys < 1 || w.Keys > 99_999_999:
		return fmt.Errorf("keys must be 1 to 99 999 999, not %d", w.Keys)
	case w.Spread != Even && w.Spread != Zipf:
		return fmt.Errorf("spread must be empty or %q, not %q", Zipf, w.Spread)
	case w.Size < minSize:
		return fmt.Errorf("size must be at least %d bytes, not %d", minSize, w.Size)
	}
	return nil
}

// String is messages × keys × size, and the spread.
func (w Workload) String() string {
	return fmt.Sprintf("%d×%d%s×%dB", w.Messages, w.Keys, w.Spread, w.Size)
}

// All yields the messages in the order in which they are to be stored. It yields the same keys and bodies each time;
// the ids are new.
func (w Workload) All() iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		random := rand.New(rand.NewPCG(1, 2))
		counts := make([]int, w.Keys)
		filler := letters(random, w.Size)
		choose := w.chooser(random)
		for range w.Messages {
			key := choose()
			id, err := uuid.NewV7()
			m := Message{ID: id, Key: keyName(key), Body: body(key, counts[key], filler)}
			if !yield(m, err) || err != nil {
				return
			}
			counts[key]++
		}
	}
}

// chooser returns what chooses the key of the next message.
func (w Workload) chooser(random *rand.Rand) func() int {
	if w.Spread == Zipf {
		zipf := rand.NewZipf(random, 1.1, 1, uint64(w.Keys-1))
		return func() int { return int(zipf.Uint64()) }
	}
	return func() int { return random.IntN(w.Keys) }
}

// Batches yields the messages in slices of size or fewer.
func (w Workload) Batches(size int) iter.Seq2[[]Message, error] {
	return func(yield func([]Message, error) bool) {
		batch := make([]Message, 0, size)
		for m, err := range w.All() {
			if err != nil {
				yield(nil, err)
				return
			}
			if batch = append(batch, m); len(batch) < size {
				continue
			}
			if !yield(slices.Clone(batch), nil) {
				return
			}
			batch = batch[:0]
		}
		if len(batch) > 0 {
			yield(batch, nil)
		}
	}
}

func keyName(key int) string { return fmt.Sprintf("key-%08d", key) }

// body is the key's number, the message's number in that key, from 0, and filler.
func body(key, nth int, filler []byte) []byte {
	b := make([]byte, 0, len(filler))
	b = fmt.Appendf(b, "%08d %08d ", key, nth)
	return append(b, filler[len(b):]...)
}

// letters are hexadecimal digits without a pattern: text that fast codecs cannot compress.
func letters(random *rand.Rand, n int) []byte {
	const digits = "0123456789abcdef"
	b := make([]byte, n)
	for i := range b {
		b[i] = digits[random.IntN(len(digits))]
	}
	return b
}
