package relayconf

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/go-sql-driver/mysql"
)

const redacted = "redacted"

// Secret is text that is never shown.
type Secret string

// MarshalText hides the secret.
func (s Secret) MarshalText() ([]byte, error) {
	if s == "" {
		return nil, nil
	}
	return []byte(redacted), nil
}

// String hides the secret.
func (s Secret) String() string { return redacted }

// URL is an address that may hold a password, which is never shown.
type URL string

// MarshalText shows the address without its password, and without the values of parameters that are one.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// shown are the schemes of addresses whose parts are known. What has none of them is a driver's own form.
var shown = []string{"amqp", "amqps", "http", "https", "mariadb", "mysql", "postgres", "postgresql"}

func (u URL) String() string {
	if u == "" {
		return ""
	}
	parsed, err := url.Parse(string(u))
	if err != nil || parsed.Host == "" || !slices.Contains(shown, parsed.Scheme) {
		return redacted
	}
	if strings.Contains(parsed.EscapedPath()+parsed.RawQuery+parsed.EscapedFragment(), "@") {
		return redacted // a password with a slash ends the host too early, and stands in the path
	}
	if _, secret := parsed.User.Password(); secret {
		parsed.User = url.UserPassword(parsed.User.Username(), redacted)
	}
	values := parsed.Query()
	for name := range values {
		if n := strings.ToLower(name); strings.Contains(n, "password") || strings.Contains(n, "passfile") {
			values.Set(name, redacted)
		}
	}
	parsed.RawQuery = values.Encode()
	return parsed.String()
}

// withPassword returns the address with password in place of its own; an empty password changes nothing. What is no
// address stays as it is, for whoever opens it to refuse.
func (u URL) withPassword(password Secret) string {
	if password == "" {
		return string(u)
	}
	if strings.Contains(string(u), "://") {
		parsed, err := url.Parse(string(u))
		if err != nil {
			return string(u)
		}
		parsed.User = url.UserPassword(parsed.User.Username(), string(password))
		return parsed.String()
	}
	dsn, err := mysql.ParseDSN(string(u))
	if err != nil {
		return string(u)
	}
	dsn.Passwd = string(password)
	return dsn.FormatDSN()
}

// Bytes is a number of bytes, written as a number or with a unit such as KiB and MiB.
type Bytes int

// UnmarshalText reads a number with an optional unit.
func (b *Bytes) UnmarshalText(text []byte) error {
	n, err := humanize.ParseBytes(string(text))
	if err != nil || n > 1<<40 {
		return errors.New("this is no number of bytes: write 1000000 or 8MiB")
	}
	*b = Bytes(n) //nolint:gosec // bounded above
	return nil
}

// MarshalText writes the largest unit that is exact.
func (b Bytes) MarshalText() ([]byte, error) {
	for _, u := range []struct {
		size Bytes
		name string
	}{{1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if b > 0 && b%u.size == 0 {
			return fmt.Appendf(nil, "%d%s", b/u.size, u.name), nil
		}
	}
	return strconv.AppendInt(nil, int64(b), 10), nil
}

// List is names or addresses, written as a YAML list or as one text with commas.
type List[T ~string] []T

// UnmarshalText splits text at its commas.
func (l *List[T]) UnmarshalText(text []byte) error {
	*l = nil
	for entry := range strings.SplitSeq(string(text), ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			*l = append(*l, T(entry))
		}
	}
	return nil
}
