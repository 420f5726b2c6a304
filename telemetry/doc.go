// Package telemetry shows operators what an outbox does, through OpenTelemetry: metrics, and traces that reach from
// the request that wrote a message to its consumers.
//
//	tel, err := telemetry.New(telemetry.Config{System: "kafka", MeterProvider: meters, TracerProvider: tracers})
//	…
//	store, err := gormstore.Open(db, gormstore.Config{Headers: tel.Headers})          // a create span for each message
//	…
//	relay, err := outbox.NewRelay(store, tel.Publisher(publisher), outbox.RelayConfig{ // a send span for each call
//		Observer: tel.Observer(), // counts and times
//	})
//	…
//	stop := tel.Watch(store, relay) // how relays stand, and what the store holds
//	defer stop()
//
// Wrap the members of an [outbox.Mux], each with the telemetry of its own System, and not the whole: a relay that is
// given the Mux itself lets the other transports go on while one is down.
//
// Each of the four works without the others. A process that monitors and relays nothing calls tel.Watch(store) alone.
// Whether a process is well is the business of package health, which needs no OpenTelemetry.
//
// # Metrics
//
// docs/operations/metrics.md lists every instrument, what it means and when to be alarmed; deploy has alerts for
// Prometheus and a dashboard for Grafana. What they promise:
//
//   - What is not known is left out, and outbox.backlog.available is 0. What is known to be empty is 0.
//   - Ages grow between two looks at the store, so a store that is never looked at again looks worse, not better.
//   - Attributes hold no ids, keys, tenants or labels of relays. Topics are told apart up to [Config.Topics].
//   - Relays of one name in a process add up. Of the backlog of one name take the largest, also over processes.
//   - Nothing here runs on the way of a message: the store is looked at when somebody collects, seldom, by one process.
//
// # Traces
//
// A message gets a span named create, of kind producer, below the span of the context in which it is enqueued. Its
// context is stored with the message, in the headers traceparent, tracestate and baggage, so it goes out with every
// attempt and consumers continue its trace. A transaction that rolls back leaves create spans of messages that were
// never sent. The relay makes a span named send for each call of Publish, of kind client, in a trace of its own, with
// links to the create spans: one batch has messages of many traces.
//
// # Conventions
//
// Names of the messaging conventions are those of version 1.43.0, in which they are in development; they may change
// with a minor version of this module. Conventions know nothing of outboxes: the names that begin with outbox are our
// own.
package telemetry
