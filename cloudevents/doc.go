// Package cloudevents writes outbox messages as CloudEvents 1.0, for consumers that expect them. Publishers do it for
// you:
//
//	kafka.Config{CloudEvents: cloudevents.Config{Mode: cloudevents.Binary, Source: "/shop"}}
//
// In both modes the headers that go out without CloudEvents stay, so a consumer that looks for the id or the type in
// them goes on reading. docs/wire.md has the table of fields, headers and attributes.
//
//   - [Binary]: the payload is the body, untouched, and each attribute a header. A tombstone stays one.
//   - [Structured]: the body is a JSON object with the attributes and the payload. A payload that is JSON, by its
//     content type and by its bytes, goes in as it is; any other in base64. A nil payload is an event without data,
//     not a tombstone: topics that are compacted want Binary.
//
// A header of a message whose name begins with "ce_" is an extension attribute of its event. A message that is a
// CloudEvent already, by its content type, goes out as it is.
//
// The rules are those of https://github.com/cloudevents/spec (version 1.0.2: spec.md, formats/json-format.md,
// bindings/kafka-protocol-binding.md, bindings/amqp-protocol-binding.md, and the extensions for distributed tracing
// and correlation). There is no binding for AMQP 0-9-1; the names of the AMQP 1.0 binding go into the headers.
package cloudevents
