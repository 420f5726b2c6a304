package relayconf

import "testing"

func TestURL_String(t *testing.T) {
	t.Parallel()
	for address, want := range map[URL]string{
		"":                                      "",
		"postgres://u:p@h:5432/d?sslmode=x":     "postgres://u:redacted@h:5432/d?sslmode=x",
		"postgres://u@h/d?password=p":           "postgres://u@h/d?password=redacted",
		"postgres://u@h/d?sslPassword=p&Pass=1": "postgres://u@h/d?Pass=1&sslPassword=redacted",
		"postgres://u:p/@h/d":                   "redacted",
		"u:p@tcp(h:3306)/d":                     "redacted",
	} {
		if got := address.String(); got != want {
			t.Errorf("%q is shown as %q, want %q", string(address), got, want)
		}
	}
}

func TestURL_withPassword(t *testing.T) {
	t.Parallel()
	for address, want := range map[URL]string{
		"postgres://u:old@h:5432/d":  "postgres://u:n%40w@h:5432/d",
		"postgres://u@h/d":           "postgres://u:n%40w@h/d",
		"amqps://u@h:5671/v?a=b":     "amqps://u:n%40w@h:5671/v?a=b",
		"u:old@tcp(h:3306)/d":        "u:n@w@tcp(h:3306)/d",
		"u@tcp(h:3306)/d?timeout=1s": "u:n@w@tcp(h:3306)/d?timeout=1s",
		"no address":                 "no address",
		"postgres://u@%zz/d":         "postgres://u@%zz/d",
	} {
		if got := address.withPassword("n@w"); got != want {
			t.Errorf("%q becomes %q, want %q", string(address), got, want)
		}
		if got := address.withPassword(""); got != string(address) {
			t.Errorf("%q without a password becomes %q", string(address), got)
		}
	}
}
