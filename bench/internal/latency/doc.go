// Package latency measures how long messages take from their commit to a consumer, while others come in.
//
// The load is open: each message has a time at which it is to be written, whether or not earlier ones are through. What
// falls behind shows in the time since then, which is measured, too.
package latency
