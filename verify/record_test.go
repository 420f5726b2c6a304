package verify_test

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/verify"
)

func TestRecord(t *testing.T) {
	t.Run("survives_the_round_trip", func(t *testing.T) {
		for _, want := range []verify.Record{
			committed(1, "a", 7), committed(1, "", 0), committed(1, "a", 0), unknown(1, "a", -3), told(verify.Aborted, 1),
			delivered(1, 0), again(routed(delivered(1, 5), "t", "ü")), keyless(delivered(1, 0)), told(verify.Pending, 1),
			told(verify.Parked, 1), told(verify.Skipped, 1), told(verify.Discarded, 1), faulty(0, 1, 0), faulty(0, 1, 500),
		} {
			b, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			var got verify.Record
			if err := json.Unmarshal(b, &got); err != nil {
				t.Fatalf("%s: %v", b, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", b, diff)
			}
		}
	})
	const one = `"id":"00000000-0000-0000-0000-000000000001"`
	const when = `"at":"2026-03-01T10:00:00Z"`
	for _, tt := range []struct{ name, text, field string }{
		{"needs_a_kind_that_there_is", `{"kind":"delayed",` + one + `}`, "kind"},
		{"needs_an_id", `{"kind":"pending"}`, "id"},
		{"needs_an_id_that_is_not_zero", `{"kind":"pending","id":"00000000-0000-0000-0000-000000000000"}`, "id"},
		{"needs_a_topic_when_committed", `{"kind":"committed",` + one + `,` + when + `}`, "topic"},
		{"needs_a_time_when_committed", `{"kind":"committed",` + one + `,"topic":"t"}`, "at"},
		{"needs_an_order_when_it_has_a_key", `{"kind":"committed",` + one + `,"topic":"t","key":"a",` + when + `}`, "order"},
		{"needs_a_stream_when_delivered", `{"kind":"delivered",` + one + `,"topic":"t","offset":1,` + when + `}`, "stream"},
		{"needs_an_offset_when_delivered", `{"kind":"delivered",` + one + `,"topic":"t","stream":"s",` + when + `}`, "offset"},
		{"needs_an_offset_that_is_no_less", `{"kind":"delivered",` + one + `,"topic":"t","stream":"s","offset":-1,` + when + `}`, "offset"},
		{"has_a_key_or_none", `{"kind":"delivered",` + one + `,"topic":"t","key":"a","keyless":true,"stream":"s","offset":1,` + when + `}`, "keyless"},
		{"needs_a_reason_when_parked", `{"kind":"parked",` + one + `}`, "reason"},
		{"needs_a_name_of_a_fault", `{"kind":"fault","from":"2026-03-01T10:00:00Z","to":"2026-03-01T10:00:00Z","bound":1}`, "fault"},
		{"needs_a_beginning_of_a_fault", `{"kind":"fault","fault":"x","to":"2026-03-01T10:00:00Z","bound":1}`, "from"},
		{"needs_an_end_behind_the_beginning", `{"kind":"fault","fault":"x","from":"2026-03-01T10:00:00Z","bound":1}`, "from"},
		{"needs_a_bound_of_a_fault", `{"kind":"fault","fault":"x","from":"2026-03-01T10:00:00Z","to":"2026-03-01T10:00:00Z"}`, "bound"},
		{"needs_a_bound_that_is_not_below_zero", `{"kind":"fault","fault":"x","from":"2026-03-01T10:00:00Z","to":"2026-03-01T10:00:00Z","bound":-1}`, "bound"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r verify.Record
			err := r.UnmarshalJSON([]byte(tt.text))
			var refused *verify.RecordError
			if !errors.As(err, &refused) || refused.Field != tt.field {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("is_refused_in_the_wrong_types", func(t *testing.T) {
		for _, text := range []string{
			``, `[]`, `{"kind":1}`, `{"kind":"pending","id":"x"}`, `{"kind":"pending",` + one + `} x`,
		} {
			var r verify.Record
			if err := r.UnmarshalJSON([]byte(text)); !errors.Is(err, verify.ErrMalformed) {
				t.Errorf("%s: got %v", text, err)
			}
		}
	})
}

func TestRecords(t *testing.T) {
	t.Run("end_at_a_line_beyond_all_bounds", func(t *testing.T) {
		_, err := verify.Check(verify.Config{}, strings.NewReader(`{"kind":"`+strings.Repeat("x", 1<<20)+`"}`))
		if !errors.Is(err, verify.ErrMalformed) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("end_at_an_error_of_the_reader", func(t *testing.T) {
		broken := io.MultiReader(strings.NewReader("\n"), errReader{})
		if _, err := verify.Check(verify.Config{}, broken); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("may_be_left_early", func(t *testing.T) {
		history := `{"kind":"aborted","id":"00000000-0000-0000-0000-000000000001"}` + "\nnonsense"
		for r, err := range verify.Records(strings.NewReader(history)) {
			if err != nil || r.ID != id(1) {
				t.Errorf("got %+v, %v", r, err)
			}
			break
		}
	})
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestWriter(t *testing.T) {
	t.Run("writes_what_Check_reads_each_record_by_one_call", func(t *testing.T) {
		var calls lines
		w := verify.NewWriter(&calls)
		for _, r := range []verify.Record{committed(1, "a", 1), delivered(1, 0)} {
			if err := w.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		r, err := verify.Check(verify.Config{}, strings.NewReader(strings.Join(calls, "")))
		if err != nil || len(calls) != 2 || r.Committed != 1 || r.Delivered != 1 || !r.OK() {
			t.Errorf("got %d calls, %+v, %v", len(calls), r, err)
		}
	})
	t.Run("refuses_a_record_that_says_too_little", func(t *testing.T) {
		var refused *verify.RecordError
		err := verify.NewWriter(io.Discard).Write(verify.Record{Kind: verify.Parked, ID: id(1)})
		if !errors.As(err, &refused) {
			t.Errorf("got %v", err)
		}
	})
}

type lines []string

func (l *lines) Write(b []byte) (int, error) {
	*l = append(*l, string(b))
	return len(b), nil
}

// FuzzRecord: a line is refused by one of the package's own errors, or says the same after it was written again.
func FuzzRecord(f *testing.F) {
	for _, r := range []verify.Record{
		committed(1, "a", 7), unknown(1, "", 0), told(verify.Aborted, 1), again(delivered(1, 5)), told(verify.Pending, 1),
		told(verify.Parked, 1), faulty(0, 1, 500),
	} {
		b, err := r.MarshalJSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"kind":"committed"`))
	f.Add([]byte(`{"kind":"delivered","offset":1e3}`))
	f.Add([]byte("{\"kind\":\"aborted\",\"id\":\"{00000000-0000-0000-0000-000000000001}\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var first, second verify.Record
		if err := first.UnmarshalJSON(text); err != nil {
			var refused *verify.RecordError
			if !errors.As(err, &refused) && !errors.Is(err, verify.ErrMalformed) {
				t.Fatalf("refused by a stranger: %v", err)
			}
			return
		}
		b, err := first.MarshalJSON()
		if err != nil {
			t.Fatalf("read, but not written: %v", err)
		}
		if err := second.UnmarshalJSON(b); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		again, err := second.MarshalJSON()
		if err != nil || string(b) != string(again) {
			t.Fatalf("%s became %s, %v", b, again, err)
		}
		if err := verify.NewChecker(verify.Config{}).Add(first); err != nil {
			t.Fatalf("read, but not taken in: %v", err)
		}
	})
}
