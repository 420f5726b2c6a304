// Package doctor looks at an outbox, its database and its brokers, and names what is wrong with a fix for each.
//
// It changes nothing, and what it reads is bounded whatever the outbox holds. It shows no statement, no payload and no
// password. docs/doctor.md lists the checks.
package doctor
