package kafka

import "github.com/twmb/franz-go/pkg/kgo"

// stickyBytes is how much goes to a partition before messages without a key turn to another one (KIP-794).
const stickyBytes = 64 << 10

// partitioner chooses like the Java producer: murmur2 of the key or, without a key, one partition after
// another. A record that was sent before stays where it was, because the search for a refused one concludes
// from what shared its batch.
type partitioner struct{}

func (partitioner) ForTopic(topic string) kgo.TopicPartitioner {
	const adaptive, keys = true, true
	inner := kgo.UniformBytesPartitioner(stickyBytes, adaptive, keys, nil).ForTopic(topic)
	return topicPartitioner{inner.(kgo.TopicBackupPartitioner)} //nolint:errcheck,forcetypeassert // its only kind
}

type topicPartitioner struct{ kgo.TopicBackupPartitioner }

func (p topicPartitioner) RequiresConsistency(r *kgo.Record) bool {
	return r.Partition != fresh || p.TopicBackupPartitioner.RequiresConsistency(r)
}

func (p topicPartitioner) PartitionByBackup(r *kgo.Record, n int, backup kgo.TopicBackupIter) int {
	if r.Partition != fresh {
		return int(r.Partition)
	}
	return p.TopicBackupPartitioner.PartitionByBackup(r, n, backup)
}
