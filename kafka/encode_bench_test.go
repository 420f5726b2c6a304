package kafka

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/cloudevents"
	"github.com/postroom/postroom/outbox"
)

// BenchmarkEncode encodes 500 messages of 300 bytes.
func BenchmarkEncode(b *testing.B) {
	messages := make([]*outbox.Message, 500)
	for i := range messages {
		messages[i] = &outbox.Message{
			ID: uuid.Must(uuid.NewV7()), Topic: "orders", Key: "order-7", Type: "OrderPlaced", Version: 1,
			ContentType: "application/json", Payload: bytes.Repeat([]byte("x"), 300), CreatedAt: time.Now(),
			Headers: []outbox.Header{{Name: "traceparent", Value: uuid.NewString()}},
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		encode(cloudevents.Config{}, messages...)
	}
}
