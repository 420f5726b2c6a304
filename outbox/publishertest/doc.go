// Package publishertest holds the behaviours that every [outbox.Publisher] must show on its real broker. A
// publisher's own tests run them:
//
//	func TestPublisher(t *testing.T) {
//		publishertest.Run(t, func(t *testing.T) publishertest.Subject { return subject(t) })
//	}
//
// Each behaviour is a [Case]; one that fails prints the sentence of the contract that is broken.
package publishertest
