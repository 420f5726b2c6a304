package protocolcheck

import (
	"fmt"
	"strings"
)

// verb is what happens in a step, as a phrase with places for the event's parts.
type verb string

// event is a step in words.
type event struct {
	verb     verb
	who      who
	other    who
	set      set
	outcomes outcomes
}

// story tells events one after another; it numbers tokens in the order in which they are made.
type story struct {
	names  [3]string
	tokens [3]int
	made   int
}

func newStory() *story { return &story{names: [3]string{"A", "B", "a former session"}} }

func (t *story) tell(e event) string {
	switch e.verb {
	case evSendClaim:
		t.made++
		t.tokens[e.who] = t.made
	case evStart, evRenew:
		if e.other == former {
			t.names[former] = "the former session of " + t.names[e.who]
			t.tokens[former] = t.tokens[e.who]
		}
	}
	name := func(w who) string {
		if w > former {
			return "nobody"
		}
		return t.names[w]
	}
	token := 0
	if e.who <= former {
		token = t.tokens[e.who]
	}
	return strings.NewReplacer(
		"{who}", name(e.who), "{other}", name(e.other), "{set}", e.set.messages(), "{lanes}", e.set.lanes(),
		"{token}", fmt.Sprint(token), "{outcomes}", e.outcomes.String(),
	).Replace(string(e.verb))
}

// messages lists messages by their numbers, which begin at 1.
func (s set) messages() string { return s.list("message", 1) }

// lanes lists lanes, which are counted from 0.
func (s set) lanes() string { return s.list("lane", 0) }

func (s set) list(noun string, first int) string {
	var items []string
	for i := range 8 {
		if s.has(i) {
			items = append(items, fmt.Sprint(i+first))
		}
	}
	switch len(items) {
	case 0:
		return "nothing"
	case 1:
		return noun + " " + items[0]
	default:
		return noun + "s " + strings.Join(items, ",")
	}
}

func (o outcomes) String() string {
	var parts []string
	for _, part := range []struct {
		name string
		set  set
	}{{"delivered", o.delivered}, {"to be tried again", o.retried}, {"deferred", o.deferred}, {"parked", o.parked}} {
		if part.set != 0 {
			parts = append(parts, part.set.messages()+" "+part.name)
		}
	}
	if parts == nil {
		return "everything released"
	}
	return strings.Join(parts, ", ")
}

// String is the violation as a numbered story.
func (v *Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "broken: %v\n", v.Broken)
	for i, line := range v.Trace {
		fmt.Fprintf(&b, "%4d. %s\n", i+1, line)
	}
	return b.String()
}
