package kafka_test

import (
	"context"
	"crypto/tls"
	"fmt"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

// A relay calls Publish; a program opens the publisher, asks what is missing, and closes it after the relay.
func ExampleOpen() {
	cluster, err := kfake.NewCluster(kfake.SeedTopics(4, "orders")) // a Kafka inside the process
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()

	publisher, err := kafka.Open(kafka.Config{Brokers: cluster.ListenAddrs()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() {
		if err := publisher.Close(); err != nil {
			fmt.Println(err)
		}
	}()
	results := publisher.Publish(context.Background(), []*outbox.Message{
		{ID: uuid.New(), Topic: "orders", Key: "c-1", Type: "OrderPlaced", Payload: []byte("{}")},
		{ID: uuid.New(), Topic: "parcels", Key: "c-1", Type: "ParcelSent", Payload: []byte("{}")}, // nobody has made it
	})
	fmt.Println("orders:", results[0].Accepted())
	fmt.Println("parcels:", results[1].Accepted(), outbox.ClassOf(results[1].Err()))
	// Output:
	// orders: true
	// parcels: false retry_after
}

// A cluster that wants a login and a certificate.
func ExampleConfig() {
	config := kafka.Config{
		Brokers: []string{"broker-1.example.com:9093", "broker-2.example.com:9093"},
		TLS:     &tls.Config{MinVersion: tls.VersionTLS12},
		SASL:    []sasl.Mechanism{scram.Auth{User: "shop", Pass: "from your secrets"}.AsSha512Mechanism()},

		Compression:     []kgo.CompressionCodec{kgo.ZstdCompression(), kgo.NoCompression()},
		MaxMessageBytes: 4 << 20, // with the same max.message.bytes at the topics
	}
	publisher, err := kafka.Open(config) // connects at the first Publish or Check
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(publisher.KeyOrdered(), publisher.Close())
	// Output: true <nil>
}
