// Package testservices tells tests where their real servers are.
//
// A test names the server it needs and gets its address:
//
//	db, err := sql.Open("pgx", testservices.Postgres(t))
//
// The addresses come from the environment alone, so the same test runs against servers that
// `make test` started, against those of compose.yaml, and against servers of your own. A missing
// address fails the test with what to do; no test is skipped for want of a server.
//
// The servers are shared by all packages under test: use a schema, a queue, an exchange or a topic
// of your own, named with [Name], and remove it afterwards.
package testservices
