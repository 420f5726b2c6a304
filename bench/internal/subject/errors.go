package subject

import "errors"

var (
	// errEarly: a subject ended by itself before everything was delivered.
	errEarly = errors.New("it ended before all was delivered")
	// errNotConfirmed: RabbitMQ refused a message, or the connection was lost.
	errNotConfirmed = errors.New("a message was not confirmed")
	// errReturned: RabbitMQ could not route a message.
	errReturned = errors.New("a message was returned")
)
