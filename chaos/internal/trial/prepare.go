//go:build unix

package trial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/postroom/postroom/chaos/internal/fault"
	"github.com/postroom/postroom/chaos/internal/fleet"
	"github.com/postroom/postroom/chaos/internal/record"
	"github.com/postroom/postroom/chaos/internal/stage"
	"github.com/postroom/postroom/chaos/internal/wait"
	"github.com/postroom/postroom/chaos/internal/wire"
	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/verify"
)

// claimLog keeps every claim and how many of its messages were still stored when it ended: only those can be published
// again. The product knows nothing of it.
const claimLog = `
CREATE TABLE chaos_claims (
  token uuid PRIMARY KEY, ids uuid[] NOT NULL, claimed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamptz, remaining integer
);
CREATE FUNCTION chaos_claimed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO chaos_claims (token, ids) VALUES (NEW.token, NEW.ids);
  RETURN NULL;
END $$;
CREATE FUNCTION chaos_ended() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE chaos_claims
  SET ended_at = clock_timestamp(), remaining = (SELECT count(*) FROM outbox_messages WHERE id = ANY (OLD.ids))
  WHERE token = OLD.token;
  RETURN NULL;
END $$;
CREATE TRIGGER chaos_claimed AFTER INSERT ON outbox_claims FOR EACH ROW EXECUTE FUNCTION chaos_claimed();
CREATE CONSTRAINT TRIGGER chaos_ended AFTER DELETE ON outbox_claims DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION chaos_ended()`

func (t *trial) prepareDatabase(ctx context.Context) error {
	db, err := gorm.Open(postgres.Open(t.scene.Postgres.URL()), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	if err := gormstore.Migrate(ctx, db, gormstore.MigrateConfig{}); err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, claimLog)
	return err
}

// prepareBroker makes the topics and begins to read them.
func (t *trial) prepareBroker(ctx context.Context) (err error) {
	for _, topic := range record.Topics() {
		if err := t.makeTopic(ctx, topic); err != nil {
			return err
		}
	}
	history := verify.NewWriter(t.delivered)
	if t.Broker == stage.Kafka {
		t.recorder, err = record.OpenKafka(ctx, t.scene.Brokers(), history)
		return err
	}
	t.recorder = record.OpenAMQP(ctx, t.scene.URLs(), history)
	return nil
}

func (t *trial) makeTopic(ctx context.Context, topic string) error {
	what := fmt.Sprintf("topic %s is there", topic)
	return wait.Until(ctx, startLimit, what, func(ctx context.Context) (bool, error) {
		if t.Broker == stage.Kafka {
			err := t.makeKafkaTopic(ctx, topic)
			return err == nil, err
		}
		err := declareQueue(t.scene.URLs()[0], topic)
		return err == nil, err
	})
}

const partitions = 6

// makeKafkaTopic makes a topic whose records have the broker's time.
func (t *trial) makeKafkaTopic(ctx context.Context, topic string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(t.scene.Brokers()...))
	if err != nil {
		return err
	}
	defer client.Close()
	brokersTime, inSync, atMost := "LogAppendTime", fmt.Sprint(1+t.Nodes/2), fmt.Sprint(1<<20)
	const brokersDefault = -1 // replicas
	answer, err := kadm.NewClient(client).CreateTopic(ctx, partitions, brokersDefault, map[string]*string{
		"message.timestamp.type": &brokersTime, "min.insync.replicas": &inSync, "max.message.bytes": &atMost,
	}, topic)
	if err != nil && !strings.Contains(err.Error(), "TOPIC_ALREADY_EXISTS") {
		return err
	}
	return answer.Err
}

func declareQueue(url, topic string) error {
	connection, err := amqp091.Dial(url)
	if err != nil {
		return err
	}
	channel, err := connection.Channel()
	if err == nil {
		err = fault.Declare(channel, topic)
	}
	return errors.Join(err, connection.Close())
}

// startShop starts the HTTP side of the example shop, and waits until it answers.
func (t *trial) startShop(ctx context.Context) error {
	if t.plain() {
		return nil
	}
	s := t.scene
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return err
	}
	broker := "kafka://" + strings.Join(s.Brokers(), ",")
	if t.Broker == stage.AMQP {
		broker = s.URLs()[0]
	}
	t.address = "http://" + address
	t.shop = fleet.StartShop(t.Programs.Shop, s.Folder,
		"ADDR="+address, "ROLE=api", "TOPIC="+wire.Orders, "BROKER_URL="+broker,
		"DATABASE_URL="+s.Postgres.URL()+"&application_name=chaos-shop")
	err = wait.Until(ctx, startLimit, "the shop listens", func(ctx context.Context) (bool, error) {
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
		if err != nil {
			return false, err
		}
		return true, c.Close()
	})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, t.shop.Log())
	}
	return nil
}
