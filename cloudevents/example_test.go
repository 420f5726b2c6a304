package cloudevents_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/cloudevents"
	"github.com/postroom/postroom/outbox"
)

// What consumers find, as headers beside an untouched payload. Publishers call Encode by themselves.
func ExampleConfig_Encode() {
	config := cloudevents.Config{Mode: cloudevents.Binary, Source: "/shop"}
	event, err := config.Encode(&outbox.Message{
		ID:    uuid.MustParse("0190b5a7-8c5e-7d1e-9d62-4d1b6f5f2a10"),
		Topic: "orders", Key: "c-1", Type: "OrderPlaced", Version: 1,
		ContentType: "application/json", Payload: []byte(`{"id":1}`),
		CreatedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	}, cloudevents.KafkaPrefix, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range event.Headers {
		if strings.HasPrefix(h.Name, cloudevents.KafkaPrefix) {
			fmt.Printf("%s: %s\n", h.Name, h.Value)
		}
	}
	fmt.Println(string(event.Body))
	// Output:
	// ce_specversion: 1.0
	// ce_id: 0190b5a7-8c5e-7d1e-9d62-4d1b6f5f2a10
	// ce_source: /shop
	// ce_type: OrderPlaced
	// ce_subject: c-1
	// ce_time: 2026-03-01T12:00:00Z
	// ce_version: 1
	// {"id":1}
}
