package gormstore

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/postroom/postroom/outbox"
)

const headersVersion = 1

var errHeaders = errors.New("malformed headers column")

// encodeHeaders writes a version byte, the count, and each name and value behind its length, all as uvarints. Order,
// duplicates and empty values survive. No headers are NULL.
func encodeHeaders(headers []outbox.Header) []byte {
	if len(headers) == 0 {
		return nil
	}
	b := binary.AppendUvarint([]byte{headersVersion}, uint64(len(headers)))
	for _, h := range headers {
		b = appendText(b, h.Name)
		b = appendText(b, h.Value)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decodeHeaders is the inverse. Nothing is allocated by a number that the remaining bytes cannot hold.
func decodeHeaders(b []byte) ([]outbox.Header, error) {
	if len(b) == 0 {
		return nil, nil
	}
	if b[0] != headersVersion {
		return nil, fmt.Errorf("%w: version %d", errHeaders, b[0])
	}
	count, b, err := readUvarint(b[1:])
	if err != nil {
		return nil, err
	}
	if count > uint64(len(b)/2) { // a header takes two lengths at least
		return nil, fmt.Errorf("%w: %d headers in %d bytes", errHeaders, count, len(b))
	}
	headers := make([]outbox.Header, count)
	for i := range headers {
		if headers[i].Name, b, err = readText(b); err != nil {
			return nil, err
		}
		if headers[i].Value, b, err = readText(b); err != nil {
			return nil, err
		}
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%w: %d bytes left over", errHeaders, len(b))
	}
	return headers, nil
}

func readText(b []byte) (string, []byte, error) {
	n, b, err := readUvarint(b)
	if err != nil {
		return "", nil, err
	}
	if n > uint64(len(b)) {
		return "", nil, fmt.Errorf("%w: text of %d bytes in %d", errHeaders, n, len(b))
	}
	return string(b[:n]), b[n:], nil
}

func readUvarint(b []byte) (uint64, []byte, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 {
		return 0, nil, fmt.Errorf("%w: bad length", errHeaders)
	}
	return n, b[size:], nil
}
