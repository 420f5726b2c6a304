package kafka

import (
	"bufio"
	"bytes"
	_ "embed"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/postroom/postroom/outbox"
)

//go:embed testdata/murmur2.tsv
var vectors []byte

// noBackup is a topic without anything buffered.
type noBackup struct{ left int }

func (b *noBackup) Next() (int, int64) { b.left--; return b.left, 0 }
func (b *noBackup) Rem() int           { return b.left }

func choose(t *testing.T, p kgo.TopicPartitioner, r *kgo.Record, n int) int {
	t.Helper()
	backup, ok := p.(kgo.TopicBackupPartitioner)
	if !ok {
		t.Fatalf("%T chooses without looking at what is buffered", p)
	}
	return backup.PartitionByBackup(r, n, &noBackup{n})
}

func TestPartitioner(t *testing.T) {
	t.Parallel()

	t.Run("chooses_like_the_Java_client_for_a_key", func(t *testing.T) {
		t.Parallel()
		lines := bufio.NewScanner(bytes.NewReader(vectors))
		seen := 0
		for lines.Scan() {
			key, text, _ := strings.Cut(lines.Text(), "\t")
			hash, err := strconv.Atoi(text)
			if err != nil {
				t.Fatalf("read the hash of %q: %v", key, err)
			}
			for _, n := range []int{1, 2, 3, 4, 12, 50, 97} {
				r := encoded(&outbox.Message{Topic: "t", Key: key})
				if got, want := choose(t, partitioner{}.ForTopic("t"), r, n), hash%n; got != want {
					t.Errorf("partition of key %q among %d = %d, want %d", key, n, got, want)
				}
			}
			seen++
		}
		if seen < 1000 {
			t.Errorf("compared %d keys, want at least 1000", seen)
		}
	})

	t.Run("keeps_a_key_in_its_partition_while_that_has_no_leader", func(t *testing.T) {
		t.Parallel()
		p := partitioner{}.ForTopic("t")
		if !p.RequiresConsistency(encoded(&outbox.Message{Topic: "t", Key: "k"})) {
			t.Error("a key may move to partitions that have a leader")
		}
		if p.RequiresConsistency(encoded(&outbox.Message{Topic: "t"})) {
			t.Error("a message without a key may not")
		}
	})

	t.Run("spreads_messages_without_a_key", func(t *testing.T) {
		t.Parallel()
		p, used := partitioner{}.ForTopic("t"), make(map[int]bool)
		for range 400 {
			used[choose(t, p, encoded(&outbox.Message{Topic: "t", Payload: make([]byte, 10_000)}), 4)] = true
		}
		if len(used) != 4 {
			t.Errorf("4 MB without a key went to %d of 4 partitions", len(used))
		}
	})

	t.Run("leaves_a_record_where_it_was_when_it_is_sent_again", func(t *testing.T) {
		t.Parallel()
		p := partitioner{}.ForTopic("t")
		for want := range int32(4) {
			r := encoded(&outbox.Message{Topic: "t"})
			r.Partition = want
			if got := choose(t, p, r, 4); got != int(want) || !p.RequiresConsistency(r) {
				t.Errorf("a record from partition %d went to %d", want, got)
			}
		}
	})
}
