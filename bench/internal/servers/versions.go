package servers

import (
	"context"
	"errors"
	"fmt"

	amqp091 "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Versions asks the servers for theirs.
func (a Addresses) Versions(ctx context.Context) (map[string]string, error) {
	versions := map[string]string{}
	var errs []error
	for name, ask := range map[string]func(context.Context) (string, error){
		"postgresql": a.postgresVersion, "rabbitmq": a.rabbitVersion, "kafka": a.kafkaVersion,
	} {
		v, err := ask(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("ask %s for its version: %w", name, err))
		}
		versions[name] = v
	}
	return versions, errors.Join(errs...)
}

func (a Addresses) postgresVersion(ctx context.Context) (version string, err error) {
	pool, err := OpenPool(a.Postgres)
	if err != nil {
		return "", err
	}
	err = pool.QueryRowContext(ctx, "SELECT split_part(current_setting('server_version'), ' ', 1)").Scan(&version)
	return version, errors.Join(err, pool.Close())
}

func (a Addresses) rabbitVersion(context.Context) (string, error) {
	conn, err := amqp091.Dial(a.AMQP)
	if err != nil {
		return "", err
	}
	version, _ := conn.Properties["version"].(string)
	return version, conn.Close()
}

func (a Addresses) kafkaVersion(ctx context.Context) (string, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(a.Kafka...))
	if err != nil {
		return "", err
	}
	defer client.Close()
	brokers, err := kadm.NewClient(client).ApiVersions(ctx)
	if err != nil {
		return "", err
	}
	for _, b := range brokers.Sorted() {
		if b.Err == nil {
			return b.VersionGuess(), nil
		}
	}
	return "", errors.New("no broker answered")
}
