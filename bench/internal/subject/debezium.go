package subject

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/bench/internal/servers"
)

// DebeziumKafka is Debezium's outbox event router.
const DebeziumKafka = "debezium-kafka"

// Debezium reads our table from the log of the database, by a connector of Kafka Connect. It keeps the order of
// commits and deletes nothing. Its settings are those of docs/debezium.md, but for the heartbeat.
func Debezium() Spec {
	return Spec{Name: DebeziumKafka, Broker: servers.Kafka, Times: fast, Open: openDebezium}
}

type debezium struct {
	Site
	name      string // of the schema, the slot, the publication and the connector
	store     *Store
	kafka     *kgo.Client
	connector connector
}

func openDebezium(ctx context.Context, site Site) (Subject, error) {
	at, err := url.Parse(site.Database)
	if err != nil {
		return nil, errors.New("read the URL of PostgreSQL: it is malformed") // the cause would show the password
	}
	s, err := OpenStore(ctx, site)
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(site.Kafka...))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open Kafka: %w", err), s.Close())
	}
	name := at.Query().Get("search_path")
	d := &debezium{Site: site, name: name, store: s, kafka: client, connector: newConnector(site.Connect, name)}
	if err := d.start(ctx, at); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// start lets the connector make its slot on the empty table, and stops it.
func (d *debezium) start(ctx context.Context, at *url.URL) error {
	const inserts = `CREATE PUBLICATION %[1]s FOR TABLE %[1]s.outbox_messages WITH (publish = 'insert')`
	if _, err := d.store.Pool.ExecContext(ctx, fmt.Sprintf(inserts, d.name)); err != nil {
		return fmt.Errorf("make the publication: %w", err)
	}
	if err := d.connector.create(ctx, d.settings(at)); err != nil {
		return err
	}
	if err := d.slot(ctx, `active`); err != nil { // which it is once the connector has read what there was
		return err
	}
	if err := d.connector.change(ctx, "/stop"); err != nil {
		return err
	}
	return d.slot(ctx, `NOT active`)
}

// slot waits until the slot is as it should be.
func (d *debezium) slot(ctx context.Context, condition string) error {
	query := `SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $1 AND ` + condition + `)`
	err := until(ctx, func() (is bool, err error) {
		if err := d.connector.failure(ctx); err != nil {
			return false, err
		}
		err = d.store.Pool.QueryRowContext(ctx, query, d.name).Scan(&is)
		return is, err
	})
	if err != nil {
		return fmt.Errorf("wait until the slot is %s: %w", condition, err)
	}
	return nil
}

func (d *debezium) settings(at *url.URL) map[string]string {
	password, _ := at.User.Password()
	const string64, transform = "org.apache.kafka.connect.storage.StringConverter", "transforms.outbox."
	return map[string]string{
		"connector.class":   "io.debezium.connector.postgresql.PostgresConnector",
		"database.hostname": at.Hostname(), "database.port": at.Port(), "database.dbname": at.Path[1:],
		"database.user": at.User.Username(), "database.password": password,
		"topic.prefix": d.name, "plugin.name": "pgoutput", "slot.name": d.name,
		"publication.name": d.name, "publication.autocreate.mode": "disabled",
		"table.include.list": d.name + ".outbox_messages", "snapshot.mode": "no_data", "extended.headers.enabled": "false",
		"key.converter": string64, "value.converter": "io.debezium.converters.BinaryDataConverter",
		"transforms": "outbox", transform + "type": "io.debezium.transforms.outbox.EventRouter",
		transform + "route.by.field": "topic", transform + "route.topic.replacement": "${routedByValue}",
		transform + "table.field.event.key": "key",
		transform + "table.fields.additional.placement": "id:header:_watermill_message_uuid,type:header:type," +
			"version:header:version,content_type:header:content-type,created_at:header:created_at",
	}
}

func (d *debezium) Fill(ctx context.Context) error { return d.store.Fill(ctx, d.Site) }

// Drain resumes the connector. Its start takes seconds, which are not measured: the clock runs from when it reads the
// slot until the topic has all records.
func (d *debezium) Drain(ctx context.Context) error {
	if err := errors.Join(d.connector.change(ctx, "/resume"), d.slot(ctx, `active`)); err != nil {
		return err
	}
	d.Progress.Begin()
	defer d.Progress.End()
	admin, seen := kadm.NewClient(d.kafka), 0
	return until(ctx, func() (bool, error) {
		ends, err := admin.ListEndOffsets(ctx, d.Destination)
		if err != nil {
			return false, fmt.Errorf("list the ends of %s: %w", d.Destination, err)
		}
		there := 0
		ends.Each(func(o kadm.ListedOffset) { there += int(o.Offset) })
		d.Progress.Add(there - seen)
		seen = there
		if seen < d.Load.Messages {
			return false, d.connector.failure(ctx)
		}
		return true, nil
	})
}

// Close removes the connector, and then the slot, which would keep the log of the whole server.
func (d *debezium) Close() error {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	defer d.kafka.Close()
	removed := d.connector.remove(ctx)
	return errors.Join(removed, d.dropSlot(ctx), d.execute(ctx, `DROP PUBLICATION IF EXISTS `+d.name), d.store.Close())
}

func (d *debezium) dropSlot(ctx context.Context) error {
	const end = `SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = $1 AND active`
	const drop = `SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1`
	err := until(ctx, func() (bool, error) {
		if err := d.execute(ctx, end, d.name); err != nil {
			return false, err
		}
		var dropped sql.NullString
		err := d.store.Pool.QueryRowContext(ctx, drop, d.name).Scan(&dropped)
		return errors.Is(err, sql.ErrNoRows), nil // it may still be in use
	})
	if err != nil {
		return fmt.Errorf("drop the replication slot %s, which is left and keeps the log for ever: %w", d.name, err)
	}
	return nil
}

func (d *debezium) execute(ctx context.Context, text string, args ...any) error {
	_, err := d.store.Pool.ExecContext(ctx, text, args...)
	return err
}
