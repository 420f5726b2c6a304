package kafka_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/postroom/postroom/internal/testservices"
	"github.com/postroom/postroom/kafka"
	"github.com/postroom/postroom/outbox"
)

// slowHandOver pauses for 200 µs after every tenth record, as a garbage collection or a slow encoder would,
// when records are handed over and again when they move into partitions. Whatever is sent meanwhile can be
// refused before the next record of its key is there.
type slowHandOver struct{ buffered, partitioned atomic.Int32 }

func (s *slowHandOver) OnProduceRecordBuffered(*kgo.Record)           { pause(&s.buffered) }
func (s *slowHandOver) OnProduceRecordPartitioned(*kgo.Record, int32) { pause(&s.partitioned) }

func pause(n *atomic.Int32) {
	if n.Add(1)%10 == 0 {
		<-time.After(200 * time.Microsecond)
	}
}

// published is one call of Publish and what came of it.
type published struct {
	messages []*outbox.Message
	results  []outbox.Result
	took     time.Duration
}

// publishSideBySide makes calls of Publish, workers at a time.
func publishSideBySide(t *testing.T, p *kafka.Publisher, workers int, calls [][]*outbox.Message) []published {
	t.Helper()
	all := make([]published, len(calls))
	next := make(chan int)
	ctx := within(t, 5*time.Minute)
	var work sync.WaitGroup
	for range workers {
		work.Go(func() {
			for n := range next {
				started := time.Now()
				all[n] = published{messages: calls[n], results: p.Publish(ctx, calls[n])}
				all[n].took = time.Since(started)
			}
		})
	}
	for n := range calls {
		next <- n
	}
	close(next)
	work.Wait()
	return all
}

// check holds calls against the log: what is accepted is there, and in each call what is there of a key is a prefix
// of what was given, in that order. It returns how many were accepted.
func check(t *testing.T, calls []published, log []*kgo.Record) int {
	t.Helper()
	type place struct {
		topic  string
		offset int64
	}
	at := make(map[string]place, len(log))
	for _, r := range log {
		id := header(r, outbox.HeaderID)
		if _, again := at[id]; !again {
			at[id] = place{r.Topic, r.Offset}
		}
	}
	n := 0
	for c, call := range calls {
		n += accepted(call.results)
		missing := make(map[string]int)
		last := make(map[string]int64)
		for i, m := range call.messages {
			where, there := at[m.ID.String()]
			if call.results[i].Accepted() && !there {
				t.Errorf("call %d: message %d was accepted and is not in the log", c, i)
			}
			if m.Key == "" {
				continue
			}
			if !there {
				missing[m.Key] = i + 1
				continue
			}
			if j := missing[m.Key]; j > 0 {
				t.Errorf("call %d: the log holds message %d of key %s, but not message %d before it", c, i, m.Key, j-1)
			}
			chain := m.Key + " " + where.topic
			if before, ok := last[chain]; ok && where.offset < before {
				t.Errorf("call %d: message %d of key %s lies before an earlier one", c, i, m.Key)
			}
			last[chain] = where.offset
		}
	}
	return n
}

func header(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

// claims are calls of n messages of 20 keys; each key changes between the topics after three messages.
func claims(calls, n int, topics ...string) [][]*outbox.Message {
	all := make([][]*outbox.Message, calls)
	for c := range all {
		for i := range n {
			key := fmt.Sprintf("key-%d", i%20)
			all[c] = append(all[c], message(topics[i/60%len(topics)], key, i))
		}
	}
	return all
}

func TestOrder(t *testing.T) {
	t.Parallel()

	for _, answer := range []*kerr.Error{
		kerr.MessageTooLarge, kerr.InvalidRecord, kerr.CorruptMessage, kerr.PolicyViolation, kerr.UnknownServerError,
		kerr.InvalidTimestamp, kerr.TopicAuthorizationFailed,
	} {
		t.Run("is_kept_through_"+answer.Message, func(t *testing.T) {
			t.Parallel()
			faultyCalls(t, answer, 20)
		})
	}
	for _, answer := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend,
		kerr.OutOfOrderSequenceNumber, kerr.UnknownProducerID, kerr.InvalidProducerEpoch, kerr.KafkaStorageError,
		kerr.UnknownTopicOrPartition,
	} {
		t.Run("is_kept_through_retries_after_"+answer.Message, func(t *testing.T) {
			t.Parallel()
			faultyCalls(t, answer, 3) // each retry waits for new metadata
		})
	}

	t.Run("is_kept_in_the_first_flush_of_a_client", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a")
		cluster.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.InvalidRecord, Count: -1,
			When: func(kmsg.Request) bool { return rand.IntN(2) == 0 },
		})
		var calls []published
		for _, given := range claims(20, 300, "a") {
			p := open(t, kafka.Config{Brokers: cluster.ListenAddrs(), ClientOptions: []kgo.Opt{kgo.WithHooks(&slowHandOver{})}})
			calls = append(calls, publishSideBySide(t, p, 1, [][]*outbox.Message{given})...)
		}
		check(t, calls, logs(t, cluster.ListenAddrs(), "a"))
	})

	t.Run("is_kept_when_connections_are_killed", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a", "b")
		p := open(t, kafka.Config{Brokers: cluster.ListenAddrs()})
		cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
			cluster.KeepControl()
			if rand.IntN(10) == 0 {
				return nil, fmt.Errorf("killed"), true
			}
			return nil, nil, false
		})
		check(t, publishSideBySide(t, p, 4, claims(40, 300, "a", "b")), logs(t, cluster.ListenAddrs(), "a", "b"))
	})

	t.Run("is_kept_when_leaders_move", func(t *testing.T) {
		t.Parallel()
		cluster := fake(t, "a", "b")
		p := open(t, kafka.Config{Brokers: cluster.ListenAddrs()})
		stop, moved := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(moved)
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
					cluster.ShufflePartitionLeaders()
				}
			}
		}()
		calls := publishSideBySide(t, p, 4, claims(40, 300, "a", "b"))
		close(stop)
		<-moved
		if n := check(t, calls, logs(t, cluster.ListenAddrs(), "a", "b")); n != 40*300 {
			t.Errorf("%d of %d accepted", n, 40*300)
		}
	})

	t.Run("is_kept_on_a_real_broker_that_refuses_some_records", func(t *testing.T) {
		t.Parallel()
		brokers := testservices.Kafka(t)
		small := map[string]string{"max.message.bytes": "25000"}
		a, b := realTopic(t, 4, small), realTopic(t, 4, nil)
		p := open(t, kafka.Config{
			Brokers: brokers, Compression: []kgo.CompressionCodec{kgo.NoCompression()},
			ClientOptions: []kgo.Opt{kgo.WithHooks(&slowHandOver{})},
		})
		given := claims(40, 300, a, b)
		poisons := 0
		for c := range given {
			i := rand.IntN(300)
			if m := given[c][i]; m.Topic == a {
				given[c][i] = large(a, m.Key, 27_000)
				poisons++
			}
		}
		calls := publishSideBySide(t, p, 1, given)
		n := check(t, calls, logs(t, brokers, a, b))
		if low := 40*300 - poisons*300/20; n < low {
			t.Errorf("%d accepted, want at least %d: a refused record takes others with it than those of its key", n, low)
		}
		wantRefused(t, calls, poisons)
		wantNoStall(t, calls)
	})

	t.Run("is_kept_on_a_real_broker_by_calls_side_by_side", func(t *testing.T) {
		t.Parallel()
		brokers := testservices.Kafka(t)
		a, b := realTopic(t, 4, map[string]string{"max.message.bytes": "25000"}), realTopic(t, 4, nil)
		p := open(t, kafka.Config{Brokers: brokers, Compression: []kgo.CompressionCodec{kgo.NoCompression()}})
		given := claims(80, 500, a, b)
		for c := range given {
			given[c][c] = large(given[c][c].Topic, given[c][c].Key, 27_000)
		}
		calls := publishSideBySide(t, p, 4, given)
		check(t, calls, logs(t, brokers, a, b))
		wantNoStall(t, calls)
	})
}

// wantNoStall wants that no call has waited for a request's time-out. A real broker never answers a request
// in which the client has emptied a batch, as it does when the batch before it in the same flush is
// refused.
func wantNoStall(t *testing.T, calls []published) {
	t.Helper()
	for c, call := range calls {
		if call.took > 5*time.Second {
			t.Errorf("call %d took %v", c, call.took)
		}
	}
}

// faultyCalls makes calls of 300 messages to a cluster that answers the first batch of two of four partitions, and
// about every fifth of those that follow, with answer.
func faultyCalls(t *testing.T, answer *kerr.Error, calls int) {
	t.Helper()
	cluster := fake(t, "a", "b")
	p := open(t, kafka.Config{Brokers: cluster.ListenAddrs(), ClientOptions: []kgo.Opt{kgo.WithHooks(&slowHandOver{})}})
	var begun atomic.Bool
	faults := cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Partitions: []int32{1, 3}, Err: answer, Count: -1,
		When: func(kmsg.Request) bool { return !begun.Swap(true) || rand.IntN(5) == 0 },
	})
	made := publishSideBySide(t, p, 1, claims(calls, 300, "a", "b"))
	faults.Remove()
	n := check(t, made, logs(t, cluster.ListenAddrs(), "a", "b"))
	if faults.Hits() == 0 || n < calls*50 {
		t.Errorf("%d of %d accepted after %d faults: too few to tell", n, calls*300, faults.Hits())
	}
}

// wantRefused wants n permanent failures, and the zero Result for what follows them under their keys.
func wantRefused(t *testing.T, calls []published, n int) {
	t.Helper()
	permanent := 0
	for c, call := range calls {
		broken := make(map[string]bool)
		for i, r := range call.results {
			key := call.messages[i].Key
			switch {
			case broken[key]:
				wantZero(t, r)
			case !r.Accepted():
				wantClass(t, r, outbox.ClassPermanent)
				permanent++
				broken[key] = true
			}
		}
		if t.Failed() {
			t.Fatalf("in call %d", c)
		}
	}
	if permanent != n {
		t.Errorf("%d messages were refused, want %d", permanent, n)
	}
}
