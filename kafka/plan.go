package kafka

import "github.com/twmb/franz-go/pkg/kgo"

// plan cuts records, given by their positions, into flushes that are sent one after another, so that in each
//
//   - a key goes to one topic only, because partitions of two topics take or refuse on their own;
//   - a topic gets no more than fits into one batch, so that no partition gets two. A broker that has forgotten the
//     producer takes a second batch although it has refused the first.
//
// A record that exceeds its topic's limit is not left out: compressed it may fit. It goes alone.
func plan(records []*kgo.Record, at []int, limit func(topic string) int) [][]int {
	var flushes [][]int
	for _, level := range byLevel(records, at) {
		flushes = append(flushes, byBatch(records, level, limit)...)
	}
	return flushes
}

// byLevel splits at by how often the record's key has changed its topic before it.
func byLevel(records []*kgo.Record, at []int) [][]int {
	type trail struct {
		topic string
		level int
	}
	var levels [][]int
	trails := make(map[string]trail)
	for _, i := range at {
		r, level := records[i], 0
		if r.Key != nil {
			t, seen := trails[string(r.Key)]
			if seen && t.topic != r.Topic {
				t.level++
			}
			trails[string(r.Key)] = trail{r.Topic, t.level}
			level = t.level
		}
		if level == len(levels) {
			levels = append(levels, nil)
		}
		levels[level] = append(levels[level], i)
	}
	return levels
}

// byBatch splits one level so that each topic's part of a flush fits into one batch.
func byBatch(records []*kgo.Record, at []int, limit func(topic string) int) [][]int {
	type filling struct{ flush, bytes int }
	var flushes [][]int
	fillings := make(map[string]filling)
	for _, i := range at {
		r := records[i]
		size := sizeInBatch(r) + recordSlack
		f := fillings[r.Topic]
		if f.bytes > 0 && batchOverhead+f.bytes+size > limit(r.Topic) {
			f = filling{flush: f.flush + 1}
		}
		f.bytes += size
		fillings[r.Topic] = f
		if f.flush == len(flushes) {
			flushes = append(flushes, nil)
		}
		flushes[f.flush] = append(flushes[f.flush], i)
	}
	return flushes
}
