// Command consumer is the other end of an outbox: it reads orders from Kafka and bills each of them once, however often
// its event comes, and announces the invoice through an outbox of its own.
//
// Once runs the handler in a transaction that also holds the note that the message was handled, so the invoice, the
// note and the event InvoiceIssued commit together or not at all. Offsets are committed after that: a process that dies
// in between gets the records again, and the note tells it that they are done.
//
// Without any configuration, by go run ./examples/consumer, it runs on a SQLite file and on a Kafka inside the process,
// sends itself three orders, each of them twice, and tells which it billed. Ctrl-C ends it. Environment variables
// switch to real servers:
//
//	DATABASE_FILE  SQLite file; default is one that ends with the process
//	BROKERS        host:port,host:port, with the topics orders and invoices
package main
