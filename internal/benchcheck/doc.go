// Command benchcheck tells whether code that every message runs through has become slower: the relay over the
// in-memory store, preparing messages, encoding records for Kafka.
//
// No time decides. The processor time of each benchmark, which other work on a machine hardly changes, is divided by
// that of a reference, a fixed loop of this package, with which it takes turns. A benchmark is slower when the median
// of its ratios is more than two and a half times the one in baseline.json, and its lowest ratio is above all that
// were seen there. It must be so twice. Allocations are counted, and may grow by a tenth.
//
//	go run ./internal/benchcheck            # compare; exit code 1 for what is slower
//	go run ./internal/benchcheck -update    # measure the baseline anew, after a change that is worth its price
package main
