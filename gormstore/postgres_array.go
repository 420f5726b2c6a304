package gormstore

import (
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Arrays go to PostgreSQL in its own text form, which every driver, protocol and pooler passes on as a plain string.

// intArray is {1,2,3}.
func intArray[T ~int | ~int64](values []T) string {
	b := make([]byte, 0, 2+8*len(values))
	b = append(b, '{')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(v), 10)
	}
	return string(append(b, '}'))
}

// boolArray is {t,f}.
func boolArray(values []bool) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = strconv.FormatBool(v)
	}
	return "{" + strings.Join(texts, ",") + "}"
}

func uuidArray(ids []uuid.UUID) string {
	var b strings.Builder
	b.Grow(2 + 37*len(ids))
	b.WriteByte('{')
	for i, id := range ids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(id.String())
	}
	b.WriteByte('}')
	return b.String()
}

var arrayEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// textArray is {"a","b"}: quoted, an element may be empty, NULL by name, or hold anything but a NUL.
func textArray(values []string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		_, _ = arrayEscapes.WriteString(&b, v) // a Builder takes everything
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}
