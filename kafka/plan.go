package kafka

import "github.com/twmb/franz-go/pkg/kgo"

// plan cuts records, given by their positions, into flushes that are sent one after another, so that in each
//
//   - a key goes to one topic only, because partitions of two topics take or refuse on their own;
//   - a topic gets no more than fits into one batch, so that no partition gets two. A broker that has forgotten the
//     producer takes a second batch although it has refused the first.
//
// A record that exceeds its topic's limit is not left out: compressed it may fit. It goes alone. Sizes are those of
// [sizeInBatch].
func plan(records []*kgo.Record, sizes, at []int, limit func(topic string) int) [][]int {
	var flushes [][]int
	for _, level := range byLevel(records, at) {
		flushes = append(flushes, byBatch(records, sizes, level, limit)...)
	}
	return flushes
}

// byLevel splits at by how often the record's key has changed its topic before it.
func byLevel(records []*kgo.Record, at []int) [][]int {
	type trail struct {
		topic string
		level int
	}
	if oneTopic(records, at) {
		return [][]int{at}
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

func oneTopic(records []*kgo.Record, at []int) bool {
	for _, i := range at {
		if records[i].Topic != records[at[0]].Topic {
			return false
		}
	}
	return true
}

// byBatch splits one level so that each topic's part of a flush fits into one batch.
func byBatch(records []*kgo.Record, sizes, at []int, limit func(topic string) int) [][]int {
	type filling struct{ flush, bytes, limit int }
	var flushes [][]int
	fillings := make(map[string]*filling)
	for _, i := range at {
		topic := records[i].Topic
		f := fillings[topic]
		if f == nil {
			f = &filling{limit: limit(topic)}
			fillings[topic] = f
		}
		size := sizes[i] + recordSlack
		if f.bytes > 0 && batchOverhead+f.bytes+size > f.limit {
			f.flush, f.bytes = f.flush+1, 0
		}
		f.bytes += size
		if f.flush == len(flushes) {
			flushes = append(flushes, nil)
		}
		flushes[f.flush] = append(flushes[f.flush], i)
	}
	return flushes
}
