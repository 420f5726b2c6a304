package kafka

import (
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Sizes in bytes of Kafka's record batch format, as the client counts them.
const (
	batchOverhead = 65 // a batch without records, its length prefix included
	recordSlack   = 8  // by how much a record may grow behind others in a batch: larger offset and time deltas
)

func sizesInBatch(records []*kgo.Record) []int {
	sizes := make([]int, len(records))
	for i, r := range records {
		sizes[i] = sizeInBatch(r)
	}
	return sizes
}

// sizeInBatch is what r takes as the first record of a batch; further ones take at most recordSlack more.
func sizeInBatch(r *kgo.Record) int {
	n := 3 // attributes, and the deltas of time and offset
	n += sized(len(r.Key)) + sized(len(r.Value)) + varint(len(r.Headers))
	for _, h := range r.Headers {
		n += sized(len(h.Key)) + sized(len(h.Value))
	}
	return sized(n)
}

// sized is what n bytes take behind their length.
func sized(n int) int { return varint(n) + n }

func varint(n int) int { return kbin.VarintLen(int32(n)) } //nolint:gosec // a message is far below 2 GiB
