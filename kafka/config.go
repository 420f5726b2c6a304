package kafka

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/postroom/postroom/cloudevents"
	"github.com/postroom/postroom/outbox"
)

// Config tells how to reach the brokers and how long to wait for them. Brokers is required.
type Config struct {
	// Brokers are the addresses to start from, host:port; the client finds the others.
	Brokers []string
	// ClientID names this client in the broker's logs and quotas. Defaults to postroom.
	ClientID string
	// TLS encrypts the connections. Defaults to none.
	TLS *tls.Config
	// SASL are the ways to log in, in order of preference. Defaults to none.
	SASL []sasl.Mechanism
	// Compression lists codecs in order of preference. Defaults to snappy, then none.
	Compression []kgo.CompressionCodec
	// CloudEvents makes CloudEvents of messages. Defaults to none.
	CloudEvents cloudevents.Config
	// MaxMessageBytes bounds a record before compression, its headers and a batch's 65 bytes included; 1
	// KiB to 64 MiB. A larger message is Permanent. Raise it together with the topics' max.message.bytes.
	// Defaults to 1 000 012.
	MaxMessageBytes int
	// DeliveryTimeout bounds a call of Publish, which returns at most 4 s later; 1 s to 10 min. Defaults to 10 s.
	DeliveryTimeout time.Duration
	// RequestTimeout is how long a broker may take to replicate a batch; 100 ms to 10 min. Defaults to 5 s.
	RequestTimeout time.Duration
	// NetworkTimeout is what the network may add to that, and bounds other requests; 100 ms to 15 min.
	// Defaults to 2 s.
	NetworkTimeout time.Duration
	// ClientOptions are further options of the client, such as hooks or a dialer. Those that the promises of this
	// package rest on (acknowledgements, idempotence, partitioning, flushing, retries, limits) cannot be changed:
	// they are overruled or, where that is not possible, refused by Open.
	ClientOptions []kgo.Opt
	// Logger gets what the client itself has to say: its errors as warnings, its warnings at debug level.
	// What happened to a message is in its Result. Defaults to slog.Default.
	Logger *slog.Logger
}

const (
	defaultMaxMessageBytes = 1_000_012 // Kafka's own former default, below today's 1 048 588
	maxRequestBytes        = 100 << 20 // what one request may hold, far above a record

	// Metadata decides how long a missing topic keeps the others of its flush waiting: two looks at this distance.
	metadataMinAge      = 250 * time.Millisecond
	unknownTopicRetries = 1
)

func (c Config) withDefaults() Config {
	c.ClientID = cmp.Or(c.ClientID, "postroom")
	c.MaxMessageBytes = cmp.Or(c.MaxMessageBytes, defaultMaxMessageBytes)
	c.DeliveryTimeout = cmp.Or(c.DeliveryTimeout, 10*time.Second)
	c.RequestTimeout = cmp.Or(c.RequestTimeout, 5*time.Second)
	c.NetworkTimeout = cmp.Or(c.NetworkTimeout, 2*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// check holds every field against its bounds; c has its defaults.
func (c Config) check() error {
	if len(c.Brokers) == 0 {
		return &outbox.FieldError{Field: "Brokers", Code: outbox.CodeMissing, Hint: "name at least one broker, host:port"}
	}
	if err := c.CloudEvents.Check(); err != nil {
		return err
	}
	if low, top := 1<<10, 64<<20; c.MaxMessageBytes < low || c.MaxMessageBytes > top {
		return &outbox.FieldError{
			Field: "MaxMessageBytes", Code: outbox.CodeOutOfRange,
			Limit: min(max(c.MaxMessageBytes, low), top), Got: c.MaxMessageBytes,
		}
	}
	for _, f := range []struct {
		name          string
		got, low, top time.Duration
	}{
		{"DeliveryTimeout", c.DeliveryTimeout, time.Second, 10 * time.Minute},
		{"RequestTimeout", c.RequestTimeout, 100 * time.Millisecond, 10 * time.Minute},
		{"NetworkTimeout", c.NetworkTimeout, 100 * time.Millisecond, 15 * time.Minute},
	} {
		if err := checkDuration(f.name, f.got, f.low, f.top); err != nil {
			return err
		}
	}
	return nil
}

func checkDuration(field string, got, low, top time.Duration) error {
	if got < low || got > top {
		return &outbox.FieldError{
			Field: field, Code: outbox.CodeOutOfRange, Limit: int(min(max(got, low), top)), Got: int(got),
			Hint: fmt.Sprintf("%v is not within %v and %v", got, low, top),
		}
	}
	return nil
}
