//go:build unix

// Package testnodes starts servers that a test has to itself: to stop them, kill them, freeze them, fill their memory,
// or lose one of three. They run on loopback, on ports of their own, in a folder that ends with the test.
//
//	nodes := testnodes.RabbitMQ(t, 3)
//	nodes[1].Kill(t)
//
// What they need is what scripts/services installs: the packages of PostgreSQL and RabbitMQ, Java, and Kafka's jars in
// its cache.
package testnodes
