// Package verify judges an outbox by its history: what was committed, what arrived, what went wrong meanwhile and what
// is still stored. It finds messages that are lost, that arrived though their transaction rolled back, that came out
// of the order of their key, and copies that no fault explains.
//
//	report, err := verify.Check(verify.Config{}, journal, arrivals)
//	if err != nil {
//		return err // the history cannot be read, or contradicts itself
//	}
//	if !report.OK() {
//		report.WriteTo(os.Stderr)
//	}
//
// A history is JSON Lines, in any number of files, in any order, each line a [Record]:
//
//	{"kind":"committed","id":"0198…","topic":"orders","key":"42","order":7,"at":"2026-03-01T10:00:00Z"}
//	{"kind":"delivered","id":"0198…","topic":"orders","stream":"orders/3","offset":1811,"at":"2026-03-01T10:00:01Z"}
//	{"kind":"fault","fault":"kill -9 of relay b","from":"2026-03-01T10:00:05Z","to":"2026-03-01T10:00:09Z","bound":500}
//	{"kind":"parked","id":"0199…","reason":"permanent: too large"}
//
// Keep the journal of what committed outside the database, in the process that committed, and let one consumer of each
// topic record all that arrives: a second one would look like copies. The verifier takes nothing from the outbox on
// trust but what it still holds at the end.
//
// It does not promise to find what no record shows, such as a message that the journal's process forgot to note.
package verify
