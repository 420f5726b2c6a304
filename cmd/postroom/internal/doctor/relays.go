package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/postroom/postroom/outbox"
)

// recovery is how long a session may have expired before somebody should have taken over its lanes.
const recovery = time.Minute

// relays looks whether any relay lives, and whether what dead ones left was taken over.
func (e *examination) relays(ctx context.Context) ([]Finding, error) {
	sessions, err := e.Store.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	live := 0
	for _, s := range sessions {
		if s.Alive() {
			live++
		}
	}
	for _, s := range sessions {
		if s.Expiry > 0 || s.Stopped || live > 0 && s.Expiry > -recovery {
			continue
		}
		findings = append(findings, Finding{
			Severity: Warning, Subject: "session " + s.ID.String(),
			Text: fmt.Sprintf("relay %s let it expire %s ago with %s and %s in flight, and nobody has recovered them",
				s.Relay, (-s.Expiry).Round(time.Second), count(int64(len(s.Lanes)), "lane"), count(int64(s.InFlight), "message")),
			Fix: "start a relay: it recovers them at once",
		})
	}
	if live > 0 {
		return findings, nil
	}
	nobody, err := e.nobody()
	return append(findings, nobody...), err
}

// nobody is what it means that no relay lives.
func (e *examination) nobody() ([]Finding, error) {
	b, err := e.backlog()
	if err != nil {
		return nil, err
	}
	f := Finding{
		Severity: Notice, Subject: "relays", Text: "no relay runs, and no message is due",
		Fix: "start one: postroom relay",
	}
	if n := b.Messages(outbox.DueStatuses()...); n > 0 {
		f.Severity = Critical
		f.Text = fmt.Sprintf("no relay runs, and %s due", are(n))
	}
	return []Finding{f}, nil
}

func are(n int) string {
	if n == 1 {
		return "1 message is"
	}
	return count(int64(n), "message") + " are"
}

// age looks for topics whose messages wait for too long.
func (e *examination) age(context.Context) ([]Finding, error) {
	b, err := e.backlog()
	if err != nil {
		return nil, err
	}
	oldest := map[string]time.Duration{}
	var topics []string
	for _, c := range b.Counts {
		if c.Oldest <= e.MaxAge || !slices.Contains(outbox.DueStatuses(), c.Status) {
			continue
		}
		if oldest[c.Topic] == 0 {
			topics = append(topics, c.Topic)
		}
		oldest[c.Topic] = max(oldest[c.Topic], c.Oldest)
	}
	var findings []Finding
	for _, topic := range topics {
		findings = append(findings, Finding{
			Severity: Warning, Subject: "topic " + topic,
			Text: fmt.Sprintf("its oldest message that is due has waited for %s, the bound is %s",
				oldest[topic].Round(time.Second), e.MaxAge),
			Fix: "see to the other findings; if there are none, the relays are too slow: more workers, or more relays " +
				"(postroom status, postroom list --topic)",
		})
	}
	return findings, nil
}

// failuresShown bounds the groups that are named.
const failuresShown = 20

// urgent is what waits for a person, before what does not.
var urgent = []outbox.Status{
	outbox.StatusParked, outbox.StatusSkipped, outbox.StatusSuspect, outbox.StatusRetrying,
}

// parked names what is set aside, by cause, before what is tried again by itself.
func (e *examination) parked(ctx context.Context) ([]Finding, error) {
	failures, err := e.Store.Failures(ctx)
	if err != nil {
		return nil, err
	}
	groups := slices.SortedStableFunc(slices.Values(failures.Groups), func(a, b outbox.FailureGroup) int {
		return cmp.Compare(slices.Index(urgent, a.Status), slices.Index(urgent, b.Status))
	})
	var findings []Finding
	for _, g := range groups[:min(len(groups), failuresShown)] {
		f := Finding{
			Subject: "topic " + g.Topic,
			Text: fmt.Sprintf("%s of type %s: %s, the oldest since %s; class %q, error %q, such as %s",
				count(int64(g.Messages), "message"), g.Type, g.Status, g.Oldest.Round(time.Second), g.Class, g.Error, g.Example),
		}
		switch g.Status {
		case outbox.StatusParked:
			f.Severity = Warning
			f.Fix = "repair the cause, then postroom requeue; or postroom skip, which lets their keys go on, or discard"
		case outbox.StatusSkipped:
			f.Severity = Notice
			f.Fix = "repair the cause, then postroom requeue; or postroom discard"
		default:
			f.Severity = Notice
			f.Fix = "it is tried again by itself: repair the cause"
		}
		findings = append(findings, f)
	}
	if more := len(groups) - failuresShown; more > 0 {
		findings = append(findings, Finding{
			Severity: Notice, Subject: "failures",
			Text: fmt.Sprintf("%s more are not named here", count(int64(more), "group")),
			Fix:  "see to those that are, and ask again; the dashboard lists all",
		})
	}
	return findings, nil
}

// pauses names what an operator holds back.
func (e *examination) pauses(ctx context.Context) ([]Finding, error) {
	pauses, err := e.Store.Pauses(ctx)
	var findings []Finding
	for _, p := range pauses {
		subject := "everything"
		if p.Topic != "" {
			subject = "topic " + p.Topic
		} else if p.Key != "" {
			subject = "key " + p.Key
		}
		findings = append(findings, Finding{
			Severity: Notice, Subject: subject,
			Text: fmt.Sprintf("paused by %s since %s: %s", p.By, p.At.UTC().Format(time.RFC3339), p.Reason),
			Fix:  "postroom resume, when its reason is over",
		})
	}
	return findings, err
}
