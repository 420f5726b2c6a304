package idempotency

import (
	"strings"

	"github.com/postroom/postroom/outbox"
)

// Header is the name of the request header that carries a client's key, from draft-ietf-httpapi-idempotency-key-header.
const Header = "Idempotency-Key"

// MaxKey bounds a client's key, in bytes, quotes and escapes aside.
const MaxKey = 255

// ParseHeader returns the key that the values of the header [Header] hold. The draft makes it a string of RFC 9651, in
// quotes; many clients send it bare, and "abc" and abc are the same key. Within quotes a key may hold any printable
// ASCII character; a bare one holds no space, quote, backslash, comma or semicolon, which would make it a list or
// give it parameters. Parameters are refused. An error is an [*outbox.FieldError].
func ParseHeader(values []string) (string, error) {
	switch len(values) {
	case 0:
		return "", refuse(outbox.CodeMissing, "send the header")
	case 1:
	default:
		return "", refuse(outbox.CodeMalformed, "send the header once")
	}
	text := strings.Trim(values[0], " \t")
	key, err := parseBare(text)
	if strings.HasPrefix(text, `"`) {
		key, err = parseQuoted(text[1:])
	}
	switch {
	case err != nil:
		return "", err
	case key == "":
		return "", refuse(outbox.CodeMissing, "the key must not be empty")
	case len(key) > MaxKey:
		return "", &outbox.FieldError{Field: Header, Code: outbox.CodeTooLong, Limit: MaxKey, Got: len(key)}
	}
	return key, nil
}

func refuse(code outbox.Code, hint string) error {
	return &outbox.FieldError{Field: Header, Code: code, Hint: hint}
}

func parseBare(text string) (string, error) {
	for _, c := range []byte(text) {
		if err := checkPrintable(c); err != nil {
			return "", err
		}
		if strings.IndexByte(` "\,;`, c) >= 0 {
			return "", refuse(outbox.CodeMalformed, "put a key with such characters in quotes")
		}
	}
	return text, nil
}

// parseQuoted reads what follows the opening quote, up to the closing one, which must be the end.
func parseQuoted(text string) (string, error) {
	var key strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if err := checkPrintable(c); err != nil {
			return "", err
		}
		switch c {
		case '"':
			if i != len(text)-1 {
				return "", refuse(outbox.CodeMalformed, "nothing may follow the closing quote")
			}
			return key.String(), nil
		case '\\':
			i++
			if i == len(text) || text[i] != '"' && text[i] != '\\' {
				return "", refuse(outbox.CodeMalformed, "a backslash escapes a quote or a backslash")
			}
			c = text[i]
		}
		key.WriteByte(c)
	}
	return "", refuse(outbox.CodeMalformed, "the closing quote is missing")
}

func checkPrintable(c byte) error {
	if c < ' ' || c > '~' {
		return refuse(outbox.CodeControl, "printable ASCII characters alone are allowed")
	}
	return nil
}
