// Package debezium checks docs/debezium.md on real servers: that Debezium's outbox event router, set up as the page
// says, writes what our own relay and publisher write, and that the ways from one to the other lose nothing. The SQL
// and the configuration are taken from the page itself.
//
// Its tests run by `make test-debezium`, on a PostgreSQL of their own: a replication slot keeps the WAL of a whole
// server. They drop their slots at the end, and those that an earlier run was killed too early to drop at the start.
package debezium
