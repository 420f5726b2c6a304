package servers

import (
	"fmt"
	"os"
	"strings"

	"github.com/google/uuid"
)

// Addresses tell where the servers are.
type Addresses struct {
	Postgres string   // postgres://user:password@host:port/database
	AMQP     string   // amqp://user:password@host:port/vhost
	Kafka    []string // host:port
	Connect  string   // Kafka Connect with Debezium's connector, http://host:port; empty for none
}

// FromEnvironment reads POSTGRES_URL, AMQP_URL, KAFKA_BROKERS and CONNECT_URL. A missing one is an error that says what
// to do, but for the last.
func FromEnvironment() (Addresses, error) {
	a := Addresses{Postgres: os.Getenv("POSTGRES_URL"), AMQP: os.Getenv("AMQP_URL"), Connect: os.Getenv("CONNECT_URL")}
	for broker := range strings.SplitSeq(os.Getenv("KAFKA_BROKERS"), ",") {
		if broker = strings.TrimSpace(broker); broker != "" {
			a.Kafka = append(a.Kafka, broker)
		}
	}
	var missing []string
	for _, v := range []struct {
		name  string
		given bool
	}{
		{"POSTGRES_URL", a.Postgres != ""}, {"AMQP_URL", a.AMQP != ""}, {"KAFKA_BROKERS", len(a.Kafka) > 0},
	} {
		if !v.given {
			missing = append(missing, v.name)
		}
	}
	if len(missing) > 0 {
		return a, fmt.Errorf("find the servers: %s not set: run `make bench`, or set them to servers of your own",
			strings.Join(missing, ", "))
	}
	return a, nil
}

// newName returns a name for a schema, topic, exchange or queue that nobody else uses.
func newName() string { return "bench_" + strings.ReplaceAll(uuid.NewString(), "-", "")[:16] }
