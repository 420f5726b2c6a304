package gormstore

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/outbox"
)

func TestHeaders(t *testing.T) {
	t.Run("survive_the_round_trip", func(t *testing.T) {
		for _, want := range [][]outbox.Header{
			nil,
			{{Name: "a", Value: "1"}},
			{{Name: "z", Value: ""}, {Name: "a", Value: "ü"}, {Name: "z", Value: "2"}, {Name: "", Value: ""}},
		} {
			got, err := decodeHeaders(encodeHeaders(want))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		}
	})
	t.Run("are_refused_when_malformed", func(t *testing.T) {
		for name, b := range map[string][]byte{
			"unknown version":      {2, 0},
			"no count":             {1},
			"huge count":           {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0, 0},
			"count beyond the end": {1, 3, 0, 0, 0, 0},
			"text beyond the end":  {1, 1, 9, 'a', 0},
			"bytes left over":      {1, 1, 1, 'a', 0, 7},
			"endless length":       bytes.Repeat([]byte{1, 0xff}, 12),
		} {
			if got, err := decodeHeaders(b); !errors.Is(err, errHeaders) {
				t.Errorf("%s: got %v, %v", name, got, err)
			}
		}
	})
}

// FuzzHeaders: what decodes encodes to something that decodes to the same, and nothing allocates beyond its input.
func FuzzHeaders(f *testing.F) {
	f.Add([]byte{1, 1, 1, 'a', 1, 'b'})
	f.Add([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add(encodeHeaders([]outbox.Header{{Name: "a", Value: "1"}, {Name: "a", Value: ""}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		headers, err := decodeHeaders(b)
		if err != nil {
			if !errors.Is(err, errHeaders) {
				t.Fatalf("refused by a stranger: %v", err)
			}
			return
		}
		if len(headers) > len(b)/2 {
			t.Fatalf("%d headers from %d bytes", len(headers), len(b))
		}
		again, err := decodeHeaders(encodeHeaders(headers))
		if err != nil {
			t.Fatal(err)
		}
		if len(headers) > 0 && !cmp.Equal(headers, again) {
			t.Fatalf("%v became %v", headers, again)
		}
	})
}

// FuzzEncodeHeaders: whatever headers hold survives the column.
func FuzzEncodeHeaders(f *testing.F) {
	f.Add("a", "1", "a", "", uint8(2))
	f.Add("", "\x00\xff", "ü", string(make([]byte, 200)), uint8(3))
	f.Fuzz(func(t *testing.T, name, value, name2, value2 string, n uint8) {
		var want []outbox.Header
		for range n % 3 {
			want = append(want, outbox.Header{Name: name, Value: value}, outbox.Header{Name: name2, Value: value2})
		}
		got, err := decodeHeaders(encodeHeaders(want))
		if err != nil || !cmp.Equal(want, got) {
			t.Fatalf("%q became %q, %v", want, got, err)
		}
	})
}
