// Command orders-api is a small shop that shows the whole path of an event: an order raises OrderPlaced, which is
// written in one transaction with it, a relay publishes the message, and a shipping consumer receives it once and
// writes a shipment. OrderCancelled takes the way of a Watermill EventBus into the same outbox.
//
//	POST /orders               place an order
//	POST /orders/{id}/cancel   take it back
//	GET  /orders/{id}          read it
//	GET  /shipments/{order_id} 404 until the event has come the whole way, then the event's id
//	GET  /healthz              whether the database answers
//	GET  /metrics              the outbox in metrics, for Prometheus
//	GET  /livez, /readyz       whether relays live, and whether the outbox drains
//	GET  /outbox               the dashboard, by a login that is printed at the start
//
// An order that is sent again with its Idempotency-Key gets the same answer and makes no second event. An order is
//
//	{"customer":"c-1","items":[{"sku":"book","quantity":2,"unit_price_cents":1999}]}
//
// Without any configuration, by make run, it runs on a SQLite file and on a Kafka inside the process, both empty at
// each start. Environment variables switch to real servers:
//
//	ADDR          where to listen, default 127.0.0.1:8080
//	DATABASE_URL  postgres://…, mariadb://user:password@host:port/database or sqlite:FILE
//	BROKER_URL    kafka://host:port,host:port or amqp://…
//	TOPIC         Kafka topic or RabbitMQ exchange, default orders; the consumer is TOPIC-shipping
//	ROLE          all (default), api (HTTP and shipping) or relay (any number of them, beside an api)
//	OUTBOX_LEASE  how long a crashed relay delays its messages, default 15s
//
// The program owns its topology: it creates the Kafka topic, or declares RabbitMQ's exchange, a quorum queue and the
// binding between them. The library never does.
package main
