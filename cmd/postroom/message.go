package main

import (
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// messageJSON is a stored message without its payload and headers.
type messageJSON struct {
	ID           uuid.UUID     `json:"id"`
	Number       int64         `json:"number"`
	Lane         int           `json:"lane"`
	Status       outbox.Status `json:"status"`
	Topic        string        `json:"topic"`
	Key          string        `json:"key"`
	Type         string        `json:"type"`
	Version      int           `json:"version"`
	Tenant       string        `json:"tenant"`
	Transport    string        `json:"transport"`
	ContentType  string        `json:"content_type"`
	PayloadBytes int           `json:"payload_bytes"`
	CreatedAt    time.Time     `json:"created_at"`
	AvailableAt  *time.Time    `json:"available_at"` // when it is due, or was; null if that is at once
	DueInSeconds float64       `json:"due_in_seconds"`
	Attempts     int           `json:"attempts"`
	Failures     int           `json:"failures"`
	Crashes      int           `json:"crashes"`
	Uncertain    bool          `json:"uncertain"`
	LastClass    outbox.Class  `json:"last_class"`
	LastError    string        `json:"last_error"`
}

func toMessage(r outbox.Record) messageJSON {
	m := messageJSON{
		ID: r.ID, Number: r.Number, Lane: r.Lane, Status: r.Status, Topic: r.Topic, Key: r.Key, Type: r.Type,
		Version: r.Version, Tenant: r.Tenant, Transport: r.Transport, ContentType: r.ContentType,
		PayloadBytes: r.Size, CreatedAt: r.CreatedAt, DueInSeconds: seconds(r.DueIn),
		Attempts: r.Attempts, Failures: r.Failures, Crashes: r.Crashes, Uncertain: r.Uncertain,
		LastClass: r.LastClass, LastError: r.LastError,
	}
	if !r.AvailableAt.IsZero() {
		m.AvailableAt = &r.AvailableAt
	}
	return m
}

func toMessages(records []outbox.Record) []messageJSON {
	list := make([]messageJSON, len(records))
	for i, r := range records {
		list[i] = toMessage(r)
	}
	return list
}

// writeMessages is the table of messages.
func writeMessages(w io.Writer, records []outbox.Record) {
	row(w, "NUMBER", "ID", "STATUS", "TOPIC", "KEY", "TYPE", "CREATED", "ATTEMPTS", "LAST ERROR")
	for _, r := range records {
		row(w, r.Number, r.ID, r.Status, short(r.Topic, 30), short(r.Key, 30), short(r.Type, 30), instant(r.CreatedAt),
			r.Attempts, short(r.LastError, 60))
	}
}
