//go:build soak

package debezium

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/internal/testtopic"
	"github.com/postroom/postroom/outbox"
)

// topic is one to which both Debezium and our relay publish.
type topic struct {
	testing.TB
	name  string
	admin *kadm.Client
}

func makeTopic(t testing.TB, name string, partitions int32) topic {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(testservices.Kafka(t)...))
	must(t, err)
	t.Cleanup(client.Close)
	admin := kadm.NewClient(client)
	testtopic.Create(t, admin, name, partitions, nil)
	return topic{t, name, admin}
}

func (t topic) length() (n int) {
	t.Helper()
	ends, err := t.admin.ListEndOffsets(within(t), t.name)
	must(t, err)
	ends.Each(func(end kadm.ListedOffset) { n += int(end.Offset) })
	return n
}

// read returns all records, in the order of each partition.
func (t topic) read() (records []record) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(testservices.Kafka(t)...), kgo.ConsumeTopics(t.name),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	must(t, err)
	defer client.Close()
	ctx := within(t)
	for n := t.length(); len(records) < n; {
		fetches := client.PollFetches(ctx)
		must(t, ctx.Err())
		fetches.EachRecord(func(r *kgo.Record) { records = append(records, record{r}) })
	}
	return records
}

type record struct{ *kgo.Record }

// header is the value of a header, "none" without it.
func (r record) header(name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return "none"
}

func (r record) id() string { return r.header(outbox.HeaderID) }

// byDebezium knows Debezium's records by the header that it adds to each.
func (r record) byDebezium() bool { return r.header("id") != "none" }

// idsByKey are the ids of records in their order, those of a key together.
func idsByKey(records []record) map[string][]string {
	ids := make(map[string][]string)
	for _, r := range records {
		ids[string(r.Key)] = append(ids[string(r.Key)], r.id())
	}
	return ids
}
