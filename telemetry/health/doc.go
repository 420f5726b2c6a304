// Package health tells whether the relays of a process do their work, and whether the outbox drains.
//
//	checks := health.New(health.Config{Store: store}, relay)
//	mux.Handle("/livez", checks.Live())
//	mux.Handle("/readyz", checks.Ready())
//
// It needs no metrics and no tracing library.
//
// # Live
//
// A process is live unless one of its relays has ended with an error, or is stuck: ready, with lanes of its own, and
// without an answer to a claim for longer than [Config.StuckAfter]. A restart may help then. Live asks nobody, so a
// database or a broker that is away never makes it fail.
//
// # Ready
//
// The outbox is ready while every relay is, and the backlog is known and within its bounds. Each [Problem] has a cause
// of its own: a store that is down and a publisher that is down are told apart, and a backlog that is not known is
// neither empty nor too large. A process without a relay can ask for readiness too: when nobody relays, the age of the
// oldest message tells.
//
// Readiness is about the outbox. A process that serves requests as well should not be taken off its load balancer for
// it: requests are captured all the same.
//
// # What it does not do
//
// It changes nothing, in the store or in a relay. Answers hold no payloads, no keys and no errors of drivers.
package health
