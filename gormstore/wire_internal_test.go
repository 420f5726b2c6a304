package gormstore

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/postroom/postroom/outbox"
)

// FuzzWire: what pgx writes in the binary format reads as the same message, and shares nothing with the connection's
// memory; bytes that are no such row are read as something, or refused, and nothing else happens.
func FuzzWire(f *testing.F) {
	id := uuid.MustParse("0198c5a0-0000-7000-8000-000000000001")
	f.Add(id[:], int64(1), int16(7), int64(0), "orders", "k", "order.placed",
		encodeHeaders([]outbox.Header{{Name: "a"}}), []byte("{}"))
	f.Add([]byte{}, int64(-1), int16(-1), int64(-1), "", "", "", []byte{1, 0xff}, []byte(nil))
	f.Add(id[:], int64(1)<<62, int16(4095), int64(1)<<50, "ü", "\x00", "t", []byte(nil), []byte{})
	f.Fuzz(func(
		t *testing.T, id []byte, seq int64, lane int16, micros int64, topic, key, kind string, headers, payload []byte,
	) {
		at := time.UnixMicro(micros % (1 << 52)).UTC()
		var want storedRow
		copy(want.message.ID[:], id)
		want.ord, want.seq, want.Lane, want.Attempts = 2, seq, int(lane), 5
		want.message.Version, want.message.AvailableAt, want.message.CreatedAt = 3, at, at
		want.message.Topic, want.message.Key, want.message.Type = topic, key, kind
		want.message.Headers, want.broken = decodeHeaders(headers)
		want.message.Payload = payload
		values := [][]byte{
			encoded(t, pgtype.Int8OID, int64(3)), encoded(t, pgtype.UUIDOID, [16]byte(want.message.ID)),
			encoded(t, pgtype.Int8OID, seq), encoded(t, pgtype.Int2OID, lane), encoded(t, pgtype.Int2OID, int16(0)),
			encoded(t, pgtype.Int4OID, int32(5)), nil, nil, encoded(t, pgtype.Int4OID, int32(3)),
			encoded(t, pgtype.TimestamptzOID, at), encoded(t, pgtype.TimestamptzOID, at),
			[]byte(topic), []byte(key), []byte(kind), nil, nil, nil, bytes.Clone(headers), nil, bytes.Clone(payload),
		}
		got := (&wireRow{values: values}).message()
		same := (&wireRow{values: values, before: got}).message()
		for _, v := range values {
			clear(v)
		}
		if diff := cmp.Diff(want.message, got.message, cmpopts.EquateApproxTime(0)); diff != "" {
			t.Errorf("message (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(got.message, same.message); diff != "" {
			t.Errorf("the same message behind itself (-want +got):\n%s", diff)
		}
		if got.ord != want.ord || got.seq != seq || got.Lane != int(lane) || got.Attempts != 5 || got.Failures != 0 ||
			(got.broken == nil) != (want.broken == nil) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

// FuzzWireRow: no row makes the reader fail.
func FuzzWireRow(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x01|0123456789abcdef|x||1:2,3:4||||||"), true)
	f.Add([]byte("|||||||||||0,1|1:1|"), false)
	f.Fuzz(func(t *testing.T, row []byte, null bool) {
		const columns = 20
		values := bytes.SplitN(row, []byte("|"), columns)
		for len(values) < columns {
			values = append(values, nil)
		}
		for i := range values {
			if null && len(values[i]) == 0 {
				values[i] = nil
			}
		}
		if m := (&wireRow{values: values}).message(); m.Message != &m.message {
			t.Error("a row without a message")
		}
		if a, err := (&wireRow{values: values}).header(); err == nil && values[0] != nil {
			t.Errorf("a message was taken for a header: %+v", a)
		}
	})
}

// encoded is v as the server sends it.
func encoded(t *testing.T, oid uint32, v any) []byte {
	t.Helper()
	b, err := pgtype.NewMap().Encode(oid, pgx.BinaryFormatCode, v, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
