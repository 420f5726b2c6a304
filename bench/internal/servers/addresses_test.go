package servers_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/postroom/postroom/bench/internal/servers"
)

// TestFromEnvironment is not parallel: it sets variables.
func TestFromEnvironment(t *testing.T) {
	t.Run("reads_the_three_addresses", func(t *testing.T) {
		t.Setenv("POSTGRES_URL", "postgres://p")
		t.Setenv("AMQP_URL", "amqp://a")
		t.Setenv("KAFKA_BROKERS", " k1:9092, k2:9092,")
		t.Setenv("CONNECT_URL", "")
		got, err := servers.FromEnvironment()
		if err != nil {
			t.Fatal(err)
		}
		want := servers.Addresses{Postgres: "postgres://p", AMQP: "amqp://a", Kafka: []string{"k1:9092", "k2:9092"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("addresses (-want +got):\n%s", diff)
		}
	})

	t.Run("names_what_is_missing_and_what_to_do", func(t *testing.T) {
		t.Setenv("POSTGRES_URL", "")
		t.Setenv("AMQP_URL", "amqp://a")
		t.Setenv("KAFKA_BROKERS", ",")
		_, err := servers.FromEnvironment()
		if err == nil || !strings.Contains(err.Error(), "POSTGRES_URL, KAFKA_BROKERS not set: run `make bench`") {
			t.Errorf("error = %v, want one with both names and the command", err)
		}
	})
}
