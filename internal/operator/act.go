// Package operator holds what all stores ask of the people who act on messages.
package operator

import (
	"strings"
	"unicode/utf8"

	"github.com/postroom/postroom/outbox"
)

const maxText = 255 // bytes of each field of an outbox.Act

// Check returns an [outbox.FieldError] unless act says who acts and why, in text that every database can keep.
func Check(act outbox.Act) error {
	if err := checkText("By", act.By, "say who acts"); err != nil {
		return err
	}
	return checkText("Reason", act.Reason, "say why")
}

func checkText(field, s, missing string) error {
	e := &outbox.FieldError{Field: field}
	switch {
	case s == "":
		e.Code, e.Hint = outbox.CodeMissing, missing
	case len(s) > maxText:
		e.Code, e.Limit, e.Got, e.Hint = outbox.CodeTooLong, maxText, len(s), "shorten it"
	case !utf8.ValidString(s):
		e.Code, e.Hint = outbox.CodeNotUTF8, "text must be valid UTF-8"
	case strings.IndexByte(s, 0) >= 0:
		e.Code, e.Hint = outbox.CodeControl, "text must not hold a NUL"
	default:
		return nil
	}
	return e
}
