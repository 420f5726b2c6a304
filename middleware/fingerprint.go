package middleware

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"

	"github.com/postroom/postroom/middleware/idempotency"
)

// takeFingerprint reads the whole body of r, bounded by limit bytes, puts it back, and returns the hash of method,
// path, query and body.
func takeFingerprint(r *http.Request, limit int) (idempotency.Fingerprint, error) {
	body, err := readBody(r, limit)
	if err != nil {
		return idempotency.Fingerprint{}, err
	}
	sum := sha256.New()
	for _, part := range []string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery} {
		addPart(sum, []byte(part))
	}
	addPart(sum, body)
	return idempotency.Fingerprint(sum.Sum(nil)), nil
}

// addPart puts the length in front, so that no two lists of parts have the same hash.
func addPart(sum hash.Hash, part []byte) {
	_, _ = sum.Write(binary.AppendUvarint(nil, uint64(len(part)))) // a hash.Hash never fails
	_, _ = sum.Write(part)
}

func readBody(r *http.Request, limit int) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	if r.ContentLength > int64(limit) {
		return nil, ErrBodyTooLarge
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
	switch tooLarge, ok := errors.AsType[*http.MaxBytesError](err); {
	case ok:
		return nil, fmt.Errorf("%w: the server allows %d bytes", ErrBodyTooLarge, tooLarge.Limit)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrBodyUnread, err)
	case len(body) > limit:
		return nil, ErrBodyTooLarge
	}
	r.Body = &readAgain{Reader: bytes.NewReader(body), Closer: r.Body}
	return body, nil
}

// readAgain is a body that has been read and can be read once more.
type readAgain struct {
	io.Reader
	io.Closer
}
