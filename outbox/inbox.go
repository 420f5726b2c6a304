package outbox

import "context"

// Inbox is the receiving end of an outbox: it remembers which messages a handler has handled, in the handler's own
// transaction. Delivery is at least once, so a message may come again after it was handled.
type Inbox interface {
	// Once calls handle in a transaction that its context carries, unless handler has handled the message id before;
	// then it does nothing, and returns false. What handle writes and the note that it was done commit together, so the
	// work is done once however often the message comes. An error or a panic of handle rolls both back, and the
	// message is as good as new; so does an error of the commit.
	//
	// Of calls for one message at the same time one runs its handle; the others wait until it has committed or rolled
	// back, or return an error. If ctx carries a transaction already, that one is joined.
	//
	// handler and id are 1 to 255 bytes of UTF-8 without NUL, else the error is a [*FieldError]. handler is stored, so it
	// must not change while messages may come again.
	Once(ctx context.Context, handler, id string, handle func(ctx context.Context) error) (handled bool, err error)
}

// CheckHandled holds what is given to [Inbox].Once against its bounds. It is for authors of inboxes.
func CheckHandled(handler, id string) error {
	for _, f := range []struct{ name, value string }{{"Handler", handler}, {"ID", id}} {
		if f.value == "" {
			return &FieldError{Field: f.name, Code: CodeMissing, Hint: "an inbox tells messages apart by handler and id"}
		}
		if err := checkText(f.name, f.value, MaxName); err != nil {
			return err
		}
	}
	return nil
}
