// Command relay is the process that the fault suite starts, stops and kills: a relay from a PostgreSQL outbox to Kafka
// or RabbitMQ, which dies at a named point when it is told to on its standard input:
//
//	kill POINT DELAY
//
// takes effect at the next pass of POINT, DELAY later, by SIGKILL. The points are the calls of store and publisher:
// claim, publish, settle and renew when a call begins, claimed, confirmed, settled and takeover when it has had its
// answer. They are wrapped around the product and change nothing in it. When the input ends, so does the process: its
// runner is gone. It reports on its standard output what it left behind when it ended in order.
package main
