// Package publishertest holds the behaviours that every [outbox.Publisher] must show on its real broker. A
// publisher's own tests run them:
//
//	func TestPublisher(t *testing.T) {
//		publishertest.Run(t, func(t *testing.T) publishertest.Subject { return subject(t) })
//	}
//
// Each behaviour is a [Case]; one that fails prints the sentence of the contract that is broken. A [Subject] says how
// to read back what the broker holds, and what it refuses; what it leaves out is not tested.
//
// # What is promised
//
// Each case can fail: internal/mutants breaks a publisher once for every one of them, and wants it to turn red.
//
// # What is not promised
//
// The broker stays up. What becomes of messages when it goes away, freezes or loses a node is for the publisher's own
// tests.
package publishertest
