package idempotency

import (
	"crypto/sha256"
	"encoding/binary"
	"sync/atomic"

	"github.com/google/uuid"
)

// Key names one request of one client. Two requests are tries of the same one if all fields are equal.
type Key struct {
	Principal string // whom the request comes from, as the server knows it: one client never meets the keys of another
	Method    string
	Route     string
	Value     string // what the client sent, see [ParseHeader]
}

// Sum returns a hash of all fields, under which a store can hold the key. No two different keys have the same one.
func (k Key) Sum() [32]byte { return sha256.Sum256(k.encode()) }

// encode puts the length before each field, so that no two different keys have the same encoding.
func (k Key) encode() []byte {
	var b []byte
	for _, field := range []string{k.Principal, k.Method, k.Route, k.Value} {
		b = binary.AppendUvarint(b, uint64(len(field)))
		b = append(b, field...)
	}
	return b
}

// namespace is that of the message ids. It is part of what consumers see, so it never changes.
var namespace = uuid.UUID{
	0x3d, 0x0c, 0x5f, 0x6e, 0x9a, 0x41, 0x4b, 0x7d, 0x8e, 0x52, 0x1f, 0xa7, 0xc4, 0x60, 0xb9, 0x13,
}

// MessageIDs returns a function for outbox.WithIDs: the nth call gives the UUIDv5 of key, fingerprint and n, so that a
// request that runs again gives its messages the ids that they had. It may be called at the same time.
//
// The fingerprint is in it for the client that uses its key for another request once the first answer has been
// forgotten: with the ids of the first one, consumers would drop the second one's messages as repeats.
func (k Key) MessageIDs(f Fingerprint) func() uuid.UUID {
	base, ordinal := append(k.encode(), f[:]...), new(atomic.Uint64)
	return func() uuid.UUID {
		name := binary.BigEndian.AppendUint64(base[:len(base):len(base)], ordinal.Add(1)-1)
		return uuid.NewSHA1(namespace, name)
	}
}
