package idempotency_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/postroom/postroom/middleware/idempotency"
	"github.com/postroom/postroom/outbox"
)

func TestParseHeader(t *testing.T) {
	t.Parallel()

	t.Run("reads_a_key_in_quotes_or_bare", func(t *testing.T) {
		t.Parallel()
		for text, want := range map[string]string{
			`"8e03978e-40d5-43dd-bc93-6894a57f9324"`: "8e03978e-40d5-43dd-bc93-6894a57f9324",
			`8e03978e-40d5-43dd-bc93-6894a57f9324`:   "8e03978e-40d5-43dd-bc93-6894a57f9324",
			" \tk\t ":                                "k",
			`"a \"b\" \\ c, d; e"`:                   `a "b" \ c, d; e`,
			`order:1/2=+_~`:                          `order:1/2=+_~`,
			strings.Repeat("k", 255):                 strings.Repeat("k", 255),
			`"` + strings.Repeat(`\"`, 255) + `"`:    strings.Repeat(`"`, 255),
		} {
			if got, err := idempotency.ParseHeader([]string{text}); got != want || err != nil {
				t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
			}
		}
	})

	t.Run("refuses_what_is_outside_the_bounds_and_says_why", func(t *testing.T) {
		t.Parallel()
		for text, want := range map[string]outbox.Code{
			"":                                   outbox.CodeMissing,
			" ":                                  outbox.CodeMissing,
			`""`:                                 outbox.CodeMissing,
			strings.Repeat("k", 256):             outbox.CodeTooLong,
			`"` + strings.Repeat("k", 256) + `"`: outbox.CodeTooLong,
			"a\x00b":                             outbox.CodeControl,
			"\"a\nb\"":                           outbox.CodeControl,
			"a\x7fb":                             outbox.CodeControl,
			"ключ":                               outbox.CodeControl,
			`"ключ"`:                             outbox.CodeControl,
			`"a`:                                 outbox.CodeMalformed,
			`"`:                                  outbox.CodeMalformed,
			`"a\"`:                               outbox.CodeMalformed,
			`"a\`:                                outbox.CodeMalformed,
			`"a\b"`:                              outbox.CodeMalformed,
			`"a"b`:                               outbox.CodeMalformed,
			`"a";v=1`:                            outbox.CodeMalformed,
			`"a", "b"`:                           outbox.CodeMalformed,
			`a"b`:                                outbox.CodeMalformed,
			`a, b`:                               outbox.CodeMalformed,
			`a;v=1`:                              outbox.CodeMalformed,
			`a\b`:                                outbox.CodeMalformed,
		} {
			wantCode(t, []string{text}, want)
		}
	})

	t.Run("refuses_no_value_and_several", func(t *testing.T) {
		t.Parallel()
		wantCode(t, nil, outbox.CodeMissing)
		wantCode(t, []string{"a", "a"}, outbox.CodeMalformed)
	})
}

func wantCode(t *testing.T, values []string, want outbox.Code) {
	t.Helper()
	key, err := idempotency.ParseHeader(values)
	field, ok := errors.AsType[*outbox.FieldError](err)
	if !ok || field.Code != want || field.Field != "Idempotency-Key" || key != "" {
		t.Errorf("%q: got %q, %v, want %s", values, key, err, want)
	}
}

// What is read is within its bounds, and reads the same when it is written again in quotes.
func FuzzParseHeader(f *testing.F) {
	for _, seed := range []string{
		`"8e03978e-40d5-43dd-bc93-6894a57f9324"`, "bare", `"a \"b\" \\ c"`, `"a";v=1`, `"a`, `"\`, "", `""`, " \tk ",
		"a\x00b", "ключ", `a, b`, strings.Repeat("k", 256),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		key, err := idempotency.ParseHeader([]string{text})
		if err != nil {
			if _, ok := errors.AsType[*outbox.FieldError](err); !ok || key != "" {
				t.Fatalf("%q: got %q, %v, want a *FieldError alone", text, key, err)
			}
			return
		}
		printable := !strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' })
		if len(key) < 1 || len(key) > idempotency.MaxKey || !printable {
			t.Fatalf("%q: key %q is outside its bounds", text, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := idempotency.ParseHeader([]string{quoted}); again != key || err != nil {
			t.Fatalf("%q: %s reads %q, %v, want %q", text, quoted, again, err, key)
		}
	})
}
