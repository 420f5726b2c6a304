package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/internal/testtopic"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

// inKafka makes the shop's topic and returns a publisher and the flag that names the brokers.
func (s *shop) inKafka(settings map[string]*string) (*kafka.Publisher, string) {
	s.Helper()
	seeds := testservices.Kafka(s)
	client, err := kgo.NewClient(kgo.SeedBrokers(seeds...))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(client.Close)
	testtopic.Create(s, kadm.NewClient(client), s.topic, 3, settings)
	p, err := kafka.Open(kafka.Config{Brokers: seeds})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = p.Close() })
	return p, "--kafka=" + strings.Join(seeds, ",")
}

func TestVerify_kafka(t *testing.T) {
	t.Run("finds_nothing_where_all_is_well", func(t *testing.T) {
		s := newShop(t)
		p, flag := s.inKafka(nil)
		s.enqueue(20, "a", "b", "")
		s.relay(p)
		s.enqueue(1, "a")
		code, r := s.verify(t.Context(), flag)
		if code != 0 || !r.OK || r.Delivered != 60 || r.Committed != 61 || r.Pending != 1 || len(r.Notes) > 0 {
			t.Errorf("exit %d, got %+v", code, r)
		}
	})
	t.Run("finds_what_is_lost_reordered_and_doubled", func(t *testing.T) {
		s := newShop(t)
		p, flag := s.inKafka(nil)
		s.enqueue(2, unreliableKeys...)
		s.relay(&unreliable{Publisher: p})
		s.expectFindings(s.verify(t.Context(), flag))
	})
	t.Run("judges_by_the_time_of_creation_without_an_archive", func(t *testing.T) {
		s := newShop(t)
		p, flag := s.inKafka(nil)
		s.enqueue(2, unreliableKeys...)
		s.relay(&unreliable{Publisher: p})
		if _, err := s.store.PurgeArchive(t.Context(), 0, 1000); err != nil {
			t.Fatal(err)
		}
		code, r := s.verify(t.Context(), flag)
		if code != exitFinding || r.Lost.Total != 0 || r.Reordered.Total != 1 || r.Unexplained.Total != 2 ||
			!strings.Contains(r.notes(), "the archive has nothing of topic") {
			t.Errorf("exit %d, got %+v", code, r)
		}
	})
	t.Run("holds_a_topic_against_a_journal_without_a_database", func(t *testing.T) {
		s := newShop(t)
		p, flag := s.inKafka(nil)
		s.enqueue(1, "a")
		s.relay(p)
		journal := file(t, strings.ReplaceAll(committedLine, `"t"`, `"`+s.topic+`"`))
		code, out, errs := call(t.Context(), "verify", "--topic", s.topic, flag, journal)
		if code != exitFinding || !strings.Contains(out, "1 arrived that nobody known enqueued") ||
			!strings.Contains(out, "lost: committed, but neither delivered nor in the outbox: 1") {
			t.Errorf("exit %d, printed %s, %s", code, out, errs)
		}
	})
	t.Run("goes_on_watching_until_it_is_interrupted", func(t *testing.T) {
		s := newShop(t)
		p, flag := s.inKafka(nil)
		code, r := s.watching(func() {
			s.enqueue(5, "a")
			s.relay(p)
		}, flag)
		if code != 0 || r.Delivered != 5 {
			t.Errorf("exit %d, got %+v", code, r)
		}
	})
	t.Run("finds_a_message_that_lost_its_key", func(t *testing.T) {
		s := newShop(t)
		p, flag := s.inKafka(nil)
		s.enqueue(1, "a", "")
		s.relay(outbox.PublisherFunc(func(ctx context.Context, m *outbox.Message) error {
			bare := *m
			bare.Key = ""
			return p.Publish(ctx, []*outbox.Message{&bare})[0].Err()
		}))
		code, r := s.verify(t.Context(), flag)
		if code != exitFinding || r.Misrouted.Total != 1 || r.Misrouted.Witnesses[0].Message.Key != "a" {
			t.Errorf("exit %d, got %+v", code, r)
		}
	})
	t.Run("says_what_other_producers_compaction_and_retention_mean", func(t *testing.T) {
		s := newShop(t)
		compact := "compact"
		p, flag := s.inKafka(map[string]*string{"cleanup.policy": &compact})
		s.enqueue(1, "a")
		s.relay(p)
		client, err := kgo.NewClient(kgo.SeedBrokers(testservices.Kafka(t)...))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		stranger := &kgo.Record{Topic: s.topic, Key: []byte("x"), Value: []byte("x")}
		if err := client.ProduceSync(t.Context(), stranger).FirstErr(); err != nil {
			t.Fatal(err)
		}
		code, r := s.verify(t.Context(), flag)
		if code != 0 || !strings.Contains(r.notes(), "compacted") ||
			!strings.Contains(r.notes(), "1 arrived without an id of an outbox") {
			t.Errorf("exit %d, got %+v", code, r)
		}
	})
	t.Run("exits_1_when_there_is_no_such_topic", func(t *testing.T) {
		s := newShop(t)
		_, flag := s.inKafka(nil)
		code, _, errs := call(t.Context(), "verify", "--database", testservices.Postgres(t), "--schema", s.schema,
			"--topic", s.topic+"x", flag)
		if code != exitFailed || !strings.Contains(errs, "read topic") {
			t.Errorf("exit %d, printed %s", code, errs)
		}
	})
	t.Run("knows_a_skipped_message_that_came_late", func(t *testing.T) {
		s := newShop(t)
		p, flag := s.inKafka(nil)
		s.enqueue(1, "poison")
		s.relay(&unreliable{Publisher: p})
		page, err := s.store.Find(t.Context(), outbox.Filter{Status: outbox.StatusParked}, 0, 1)
		if err != nil || len(page) != 1 {
			t.Fatal(page, err)
		}
		act := outbox.Act{By: "test", Reason: "try it"}
		if n, err := s.store.Skip(t.Context(), act, page[0].ID); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		s.enqueue(1, "poison")
		s.relay(p) // the second of the key
		if n, err := s.store.Requeue(t.Context(), act, page[0].ID); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		s.relay(p)
		code, r := s.verify(t.Context(), flag, "--since", (2 * time.Hour).String())
		if code != 0 || r.Delivered != 2 || r.Skipped != 1 {
			t.Errorf("exit %d, got %+v", code, r)
		}
	})
	t.Run("gives_up_when_the_rest_of_the_topic_does_not_come", func(t *testing.T) {
		t.Parallel()
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
		must(t, err)
		defer cluster.Close()
		cluster.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
			cluster.KeepControl()
			return nil, errors.New("lost"), true
		})
		p := place{brokers: cluster.ListenAddrs()}
		must(t, p.find(&target{}, nil))
		opened, err := openKafka(t.Context(), &verification{topic: "t", place: p, since: time.Hour})
		must(t, err)
		defer opened.close()
		r, ok := opened.(*kafkaReader)
		if !ok {
			t.Fatalf("got a %T", opened)
		}
		must(t, r.client.ProduceSync(t.Context(), &kgo.Record{Topic: "t"}).FirstErr())
		r.patience = 100 * time.Millisecond
		if err := r.finish(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing came for 100ms") {
			t.Errorf("got %v", err)
		}
	})
}
