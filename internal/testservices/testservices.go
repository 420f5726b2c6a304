package testservices

import (
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// The environment variables that name the servers.
const (
	PostgresEnv  = "POSTGRES_URL"  // postgres://user:password@host:port/database
	PgBouncerEnv = "PGBOUNCER_URL" // postgres://user:password@host:port/database
	MariaDBEnv   = "MARIADB_URL"   // mariadb://user:password@host:port/database
	AMQPEnv      = "AMQP_URL"      // amqp://user:password@host:port/vhost
	KafkaEnv     = "KAFKA_BROKERS" // host:port[,host:port...]
	ConnectEnv   = "CONNECT_URL"   // http://host:port
)

// Postgres returns the URL of the PostgreSQL server, from POSTGRES_URL. Its user may create
// schemas, databases and roles, and load modules, as a superuser does.
func Postgres(tb testing.TB) string {
	tb.Helper()
	return required(tb, PostgresEnv)
}

// PgBouncer returns the URL of a PgBouncer before the PostgreSQL server, from PGBOUNCER_URL. It pools the database of
// the URL by transaction, and by statement under the same name with the suffix "_statement".
func PgBouncer(tb testing.TB) string {
	tb.Helper()
	return required(tb, PgBouncerEnv)
}

// MariaDB returns the URL of the MariaDB or MySQL server, from MARIADB_URL. Its user may create databases.
func MariaDB(tb testing.TB) string {
	tb.Helper()
	return required(tb, MariaDBEnv)
}

// AMQP returns the URL of the RabbitMQ server, from AMQP_URL.
func AMQP(tb testing.TB) string {
	tb.Helper()
	return required(tb, AMQPEnv)
}

// Kafka returns the seed brokers of the Kafka cluster, from KAFKA_BROKERS. Its brokers create no
// topic by themselves.
func Kafka(tb testing.TB) []string {
	tb.Helper()
	brokers := split(required(tb, KafkaEnv))
	if len(brokers) == 0 {
		tb.Fatalf("%s names no broker: want host:port, several separated by commas", KafkaEnv)
	}
	return brokers
}

// Connect returns the URL of a Kafka Connect worker that has Debezium's PostgreSQL connector and reaches the other
// servers under the addresses that the tests have, from CONNECT_URL.
func Connect(tb testing.TB) string {
	tb.Helper()
	return strings.TrimSuffix(required(tb, ConnectEnv), "/")
}

// Name returns prefix and a random suffix of lower-case hexadecimal digits, at most 63 bytes in
// all: a name for a schema, queue, exchange or topic that no other test uses.
func Name(prefix string) string {
	suffix := strings.ReplaceAll(uuid.NewString(), "-", "")[:16]
	const bound = 63 // PostgreSQL cuts longer identifiers.
	return prefix[:min(len(prefix), bound-1-len(suffix))] + "_" + suffix
}

// required returns the value of a variable and ends the test when there is none.
func required(tb testing.TB, name string) string {
	tb.Helper()
	value := strings.TrimSpace(os.Getenv(name))
	if value == "" {
		tb.Fatalf("%s is not set: run `%s`, or `scripts/services up` and then "+
			"`eval \"$(scripts/services env)\"`, or set it to a server of your own", name, commandOf(name))
	}
	return value
}

// commandOf is the command that starts the server of a variable.
func commandOf(name string) string {
	if name == ConnectEnv {
		return "make test-debezium"
	}
	return "make test"
}

// split returns the entries of a comma-separated list, without blanks.
func split(list string) []string {
	var entries []string
	for entry := range strings.SplitSeq(list, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			entries = append(entries, entry)
		}
	}
	return entries
}
