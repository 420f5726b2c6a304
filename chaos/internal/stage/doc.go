//go:build unix

// Package stage starts the servers of a trial: PostgreSQL, one broker or three, and a proxy before each of them for
// the relays. They live on loopback in folders of their own, and end with the stage, or with the process.
package stage
