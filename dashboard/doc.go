// Package dashboard shows an outbox to its operators as web pages, and lets them act: an [http.Handler] for a path of
// the application's own router.
//
//	handler, err := dashboard.New(dashboard.Config{Store: store, Prefix: "/outbox", Authorize: authorize})
//	router.Mount("/outbox", handler)
//
// The overview says first whether somebody has to do something, then how much waits, for how long and where. Behind it
// are the messages with filters, each message with its history, failures by their cause, keys that are held, relays
// with their lanes, pauses, and the audit: what operators did, here or elsewhere. What is not known is shown as not
// known, never as zero, and a count that is a lower bound as "at least".
//
// Pages are made on the server and need nothing from elsewhere: no build, no fonts, no CDN. They work without script; a
// few lines of it keep the overview up to date. They are usable by keyboard and by screen reader, on a phone, in light
// and in dark.
//
// # Who may see what
//
// It is closed by default: without an [Authorizer], New returns an error. The authorizer looks at each request, after
// the application's own login, and says who asks and what they may do; see [Visitor]. Who may nothing gets the same
// answer at every path. The roles are
//
//   - Counts: numbers, ids, topics, types, tenants, errors, and the names of headers;
//   - Payloads: also keys, payloads and the values of headers;
//   - Act: also keys, and to requeue, discard, skip, pause and resume, with a reason that is recorded with the name.
//
// Errors are shown to everybody who is let in: they come from brokers and publishers, and also stand in the log. A
// publisher that puts contents of messages into its errors shows them here.
//
// # Acting
//
// Every act upon messages is preceded by a page that says what would be done, to how many messages, with a sample. What
// is done then is done to exactly the messages that were counted, up to a thousand of them, in the order of their
// numbers; of more, the operator chooses the first thousand or all that match. Messages that were delivered or changed
// meanwhile stay as they are, and the answer says how many.
//
// # What browsers are told
//
// A content security policy that allows the page's own style sheet and script and nothing inline, no frames, nosniff,
// no referrer to other sites, and that pages are not to be stored. Forms are refused when they come from another origin
// ([http.CrossOriginProtection]) or lack the token that was made for this visitor and this form; the secret behind it
// is a cookie (HttpOnly, SameSite=Strict), so processes behind a balancer need nothing in common. What others wrote,
// such as keys, headers, payloads and errors, is text on every page.
//
// # Cost
//
// The overview asks the store for its backlog once in five seconds, however many people look. Lists are read by index
// from where the last page ended, 25 messages at a time, so that the last page of a million is as fast as the first. A
// filter by a text that few messages have may read many; Config.Timeout bounds it.
package dashboard
