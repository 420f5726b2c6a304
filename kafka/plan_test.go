package kafka

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"
)

func records(topicsAndKeys ...string) []*kgo.Record {
	var rs []*kgo.Record
	for _, tk := range topicsAndKeys {
		r := &kgo.Record{Topic: tk[:1], Value: make([]byte, 100)}
		if len(tk) > 1 {
			r.Key = []byte(tk[1:])
		}
		rs = append(rs, r)
	}
	return rs
}

func positions(n int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	return at
}

func TestPlan(t *testing.T) {
	t.Parallel()
	const plenty = 1 << 20
	one := sizeInBatch(records("Ak")[0]) + recordSlack
	for _, c := range []struct {
		name    string
		records []*kgo.Record
		limit   int
		want    [][]int
	}{
		{"sends_all_at_once_when_keys_stay_in_their_topic", records("Ak", "Bl", "Ak", "Bl", "A"), plenty, [][]int{{0, 1, 2, 3, 4}}},
		{"begins_a_flush_where_a_key_changes_its_topic", records("Ak", "Ak", "Bk", "Ak", "Bl"), plenty, [][]int{{0, 1, 4}, {2}, {3}}},
		{"lets_messages_without_a_key_change_topics", records("A", "B", "A", "B"), plenty, [][]int{{0, 1, 2, 3}}},
		{"fills_one_batch_of_each_topic", records("Ak", "Ak", "Bk2", "Ak", "Bk2"), batchOverhead + 2*one, [][]int{{0, 1, 2}, {3, 4}}},
		{"sends_what_is_too_large_for_the_topic_alone", records("Ak", "Al", "Am"), 50, [][]int{{0}, {1}, {2}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := plan(c.records, sizesInBatch(c.records), positions(len(c.records)), func(string) int { return c.limit })
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("flushes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlanProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[ABC][klm]?`), 0, 60).Draw(t, "records")
		rs := records(names...)
		limit := rapid.IntRange(100, 2000).Draw(t, "limit")
		flushes := plan(rs, sizesInBatch(rs), positions(len(rs)), func(string) int { return limit })

		seen, last := 0, make(map[string]int)
		for n, flush := range flushes {
			bytes, topic := make(map[string]int), make(map[string]string)
			for _, i := range flush {
				r, key := rs[i], string(rs[i].Key)
				seen++
				bytes[r.Topic] += sizeInBatch(r) + recordSlack
				if over := batchOverhead+bytes[r.Topic] > limit; over && bytes[r.Topic] > sizeInBatch(r)+recordSlack {
					t.Fatalf("flush %d has two batches for topic %s", n, r.Topic)
				}
				if r.Key == nil {
					continue
				}
				if i < last[key] {
					t.Fatalf("record %s of key %s leaves after record %d", strconv.Itoa(i), key, last[key])
				}
				last[key] = i
				if was, ok := topic[key]; ok && was != r.Topic {
					t.Fatalf("flush %d has key %s in topics %s and %s", n, key, was, r.Topic)
				}
				topic[key] = r.Topic
			}
		}
		if seen != len(rs) {
			t.Fatalf("planned %d of %d records", seen, len(rs))
		}
	})
}
