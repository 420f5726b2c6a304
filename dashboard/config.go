package dashboard

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/postroom/postroom/outbox"
)

// Config says what the dashboard shows, and to whom.
type Config struct {
	// Store holds the messages. Required. What else it is of [outbox.Backlogger], [outbox.Overseer] and [outbox.Pauser]
	// fills the pages of that; without it they say that the store does not tell.
	Store outbox.Inspector
	// Authorize says who asks and what they may do, of every request. Required: there is no dashboard without it.
	Authorize Authorizer
	// Prefix is the path at which the handler is mounted, as the request's URL has it: "/outbox" for
	// router.Mount("/outbox", handler). Defaults to none, which is also right behind [http.StripPrefix].
	Prefix string
	// Title names this outbox to those who run several. Defaults to "outbox".
	Title string
	// Relays are those of this process, such as an [*outbox.Relay]: what they tell of themselves is shown beside what the
	// store knows of all. The rate of deliveries is theirs. Defaults to none.
	Relays []Relay
	// Timeout bounds what a page asks of the store, and an act upon many messages. Keep it below the server's
	// WriteTimeout. Defaults to 10 s.
	Timeout time.Duration
	// Logger gets what is not shown: errors of the store and of Authorize. Defaults to slog.Default.
	Logger *slog.Logger
}

// Relay tells what it is doing. [*outbox.Relay] is one.
type Relay interface {
	Snapshot() outbox.Snapshot
}

// Authorizer says who sends a request. A visitor without a role is refused with 403, and an error, which says that
// nobody knows who it is, with 503; neither sees anything. Logins, redirects and challenges are the application's, in
// the middleware before the dashboard.
type Authorizer func(r *http.Request) (Visitor, error)

// Visitor is who asks and what they may do. The zero Visitor may do nothing.
type Visitor struct {
	// Name is recorded with everything that they do. Required with Act, at most 255 bytes.
	Name string
	// Counts lets them see how things stand: numbers, ids, topics, types, tenants, errors and the names of headers.
	// Keys stay hidden, since many name a person. Both roles below include it.
	Counts bool
	// Payloads lets them see keys, payloads and the values of headers, too.
	Payloads bool
	// Act lets them requeue, discard, skip, pause and resume, and see keys, which they need for that.
	Act bool
}

func (v Visitor) seesCounts() bool { return v.Counts || v.Payloads || v.Act }
func (v Visitor) seesKeys() bool   { return v.Payloads || v.Act }

func (c Config) withDefaults() Config {
	c.Title = cmp.Or(c.Title, "outbox")
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.Prefix = strings.TrimSuffix(c.Prefix, "/")
	return c
}

func (c Config) check() error {
	switch {
	case c.Store == nil:
		return &outbox.FieldError{Field: "Store", Code: outbox.CodeMissing, Hint: "give the store that holds the messages"}
	case c.Authorize == nil:
		return &outbox.FieldError{
			Field: "Authorize", Code: outbox.CodeMissing,
			Hint: "say who may see and do what; there is no dashboard that is open to everybody",
		}
	case c.Prefix != "" && !strings.HasPrefix(c.Prefix, "/"):
		return &outbox.FieldError{Field: "Prefix", Code: outbox.CodeMalformed, Hint: "begin it with a slash, as in /outbox"}
	case c.Timeout < 0:
		return &outbox.FieldError{Field: "Timeout", Code: outbox.CodeOutOfRange, Hint: "give a duration above 0"}
	}
	return nil
}
