// Package e2e checks the whole path of a message on real servers, from the handler's transaction to
// the consumer, on three combinations: PostgreSQL with RabbitMQ (quorum queues), PostgreSQL with
// Apache Kafka, and SQLite with a Kafka inside the test's process.
//
// Each subtest is a claim that holds on a combination:
//
//	TestPath/PostgreSQL_to_Kafka/delivers_all_in_order_when_a_relay_is_killed
//
// What runs as a process of its own in production does so here: the example shop is built once for a
// run, with the race detector if the tests have it, and started as API and as relays that are stopped
// and killed. Every test has a database, topics and queues of its own. The outage stops a broker, so
// it starts one for itself with scripts/services.
//
// Order is judged by a consumer that drops the ids it knows, see sequence: the numbers of each key
// have to rise by one.
package e2e
