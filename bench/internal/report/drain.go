package report

import (
	"github.com/postroom/postroom/bench/internal/load"
	"github.com/postroom/postroom/bench/internal/subject"
)

// DrainComparisons are the ratios of drains to a broker, with their targets. The workload is that of most of them.
func DrainComparisons(w load.Workload) []Comparison {
	plain := load.Workload{Keys: w.Keys, Size: w.Size}
	large := load.Workload{Keys: w.Keys, Size: subject.LargeDrain}
	zipf := load.Workload{Keys: w.Keys, Size: w.Size, Spread: load.Zipf}
	hot := load.Workload{Keys: 1, Size: w.Size}
	of := func(name string, w load.Workload) Of { return Of{Subject: name, Workload: w} }
	against := func(name, what, ours, other string, atLeast float64) Comparison {
		return Comparison{Name: name, What: what, Of: of(ours, plain), Over: of(other, plain), AtLeast: atLeast}
	}
	beside := func(name, what, ours string, w load.Workload, atLeast float64) Comparison {
		return Comparison{Name: name, What: what, Of: of(ours, w), Over: of(ours, plain), AtLeast: atLeast}
	}
	bare := func(name, what, ours, raw string) Comparison {
		return Comparison{Name: name, What: what, Of: of(ours, large), Over: of(raw, large)}
	}
	return []Comparison{
		against("kafka_vs_forwarder", "Watermill's forwarder", subject.OursKafka, subject.ForwarderKafka, 20),
		against("kafka_vs_forwarder_tuned", "the forwarder with batches of 1 000", subject.OursKafka, subject.TunedKafka, 0),
		against("kafka_vs_river", "River's workers", subject.OursKafka, subject.RiverKafka, 3),
		against("kafka_vs_skip_locked", "batched SKIP LOCKED, without order", subject.OursKafka, subject.SkipLockedKafka, 1),
		against("kafka_vs_debezium", "Debezium's outbox event router", subject.OursKafka, subject.DebeziumKafka, 0),
		against("kafka_vs_raw", "the bare pipeline", subject.OursKafka, subject.RawKafka, 0.8),
		bare("kafka_vs_raw_large", "the bare pipeline, 2 KB", subject.OursKafka, subject.RawKafka),
		beside("kafka_hot_key", "one hot key beside 1 000 even ones", subject.OursKafka, hot, 0.5),
		beside("kafka_zipf", "Zipf 1.1 beside even keys", subject.OursKafka, zipf, 0),
		against("kafka_pipelined", "Pipelined beside Ordered", subject.PipelinedKafka, subject.OursKafka, 0),
		against("amqp_vs_forwarder", "Watermill's forwarder", subject.OursAMQP, subject.ForwarderAMQP, 10),
		against("amqp_vs_forwarder_tuned", "the forwarder with batches of 1 000", subject.OursAMQP, subject.TunedAMQP, 0),
		against("amqp_vs_river", "River's workers", subject.OursAMQP, subject.RiverAMQP, 1.8),
		against("amqp_vs_skip_locked", "batched SKIP LOCKED, without order", subject.OursAMQP, subject.SkipLockedAMQP, 0),
		against("amqp_vs_raw", "the bare pipeline", subject.OursAMQP, subject.RawAMQP, 0.8),
		bare("amqp_vs_raw_large", "the bare pipeline, 2 KB", subject.OursAMQP, subject.RawAMQP),
		beside("amqp_hot_key", "one hot key beside 1 000 even ones", subject.OursAMQP, hot, 0),
		beside("amqp_zipf", "Zipf 1.1 beside even keys", subject.OursAMQP, zipf, 0),
		against("amqp_pipelined", "Pipelined beside Ordered", subject.PipelinedAMQP, subject.OursAMQP, 0),
	}
}
