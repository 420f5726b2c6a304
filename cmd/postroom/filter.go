package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/pflag"

	"github.com/postroom/postroom/outbox"
)

// filterFlags are a filter as flags give it.
type filterFlags struct {
	status, topic, key, typ, tenant, class, text string
	olderThan                                    time.Duration
}

var (
	statuses = []outbox.Status{
		outbox.StatusParked, outbox.StatusSkipped, outbox.StatusInFlight, outbox.StatusScheduled, outbox.StatusPaused,
		outbox.StatusRetrying, outbox.StatusSuspect, outbox.StatusHeld, outbox.StatusPending,
	}
	classes = []outbox.Class{
		outbox.ClassRefused, outbox.ClassPermanent, outbox.ClassUnroutable, outbox.ClassUnavailable, outbox.ClassUnknown,
		outbox.ClassRetryAfter,
	}
)

// register adds the flags; those that a command acts on have no choice but allowed.
func (f *filterFlags) register(flags *pflag.FlagSet, allowed []outbox.Status) {
	flags.StringVar(&f.status, "status", "", "only messages that are "+oneOf(allowed))
	flags.StringVar(&f.topic, "topic", "", "only messages of this topic")
	flags.StringVar(&f.key, "key", "", "only messages of this key")
	flags.StringVar(&f.typ, "type", "", "only messages of this type")
	flags.StringVar(&f.tenant, "tenant", "", "only messages of this tenant")
	flags.StringVar(&f.text, "error", "", "only messages whose last error contains this text")
	flags.StringVar(&f.class, "class", "", "only messages whose last error is "+oneOf(classes))
	flags.DurationVar(&f.olderThan, "older-than", 0, "only messages enqueued longer ago than this, such as 90m")
}

// filter checks what the flags say.
func (f *filterFlags) filter(allowed []outbox.Status) (outbox.Filter, error) {
	switch {
	case f.status != "" && !slices.Contains(allowed, outbox.Status(f.status)):
		return outbox.Filter{}, usageError{fmt.Errorf("unknown --status %q: say %s", f.status, oneOf(allowed))}
	case f.class != "" && !slices.Contains(classes, outbox.Class(f.class)):
		return outbox.Filter{}, usageError{fmt.Errorf("unknown --class %q: say %s", f.class, oneOf(classes))}
	case f.olderThan < 0:
		return outbox.Filter{}, usageError{fmt.Errorf("--older-than %v: say how long ago, such as 90m", f.olderThan)}
	}
	return outbox.Filter{
		Status: outbox.Status(f.status), Topic: f.topic, Key: f.key, Type: f.typ, Tenant: f.tenant,
		Class: outbox.Class(f.class), Error: f.text, OlderThan: f.olderThan,
	}, nil
}

func oneOf[T ~string](choices []T) string {
	texts := make([]string, len(choices))
	for i, c := range choices {
		texts[i] = string(c)
	}
	last := len(texts) - 1
	if last == 0 {
		return texts[0]
	}
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}

func parseID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || id == uuid.Nil {
		return uuid.Nil, usageError{fmt.Errorf("%q is no message id: an id looks like %s", text,
			"0193a1b2-0000-7000-8000-000000000001")}
	}
	return id, nil
}
