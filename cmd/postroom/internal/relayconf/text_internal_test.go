package relayconf

import "testing"

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
