package dashboard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postroom/postroom/outbox"
)

// relaysPage is who works: what the store knows of all relays, and what those of this process tell.
type relaysPage struct {
	Told     bool // the store tells of sessions
	Sessions []session
	Own      []outbox.Snapshot
}

type session struct {
	outbox.Session
	State string // alive, expired or stopped
	Level string
	Strip string // path data of the lanes it holds
	Width int    // of the strip, one a lane
	In    string // its lanes in words
}

func (d *Dashboard) relays(v *visit) (page, error) {
	var p relaysPage
	for _, relay := range d.config.Relays {
		p.Own = append(p.Own, relay.Snapshot())
	}
	if d.store.overseer == nil {
		return page{"relays", "Relays", p}, nil
	}
	sessions, err := d.store.overseer.Sessions(v.Context())
	if err != nil {
		return page{}, err
	}
	p.Told = true
	lanes := 0
	for _, s := range sessions {
		if n := len(s.Lanes); n > 0 {
			lanes = max(lanes, s.Lanes[n-1]+1)
		}
	}
	for _, s := range sessions {
		p.Sessions = append(p.Sessions, newSession(s, lanes))
	}
	return page{"relays", "Relays", p}, nil
}

func newSession(s outbox.Session, lanes int) session {
	shown := session{Session: s, State: "alive", Level: "good", Width: lanes, In: laneRanges(s.Lanes)}
	switch {
	case s.Stopped:
		shown.State, shown.Level = "stopped", ""
	case s.Expiry <= 0:
		shown.State, shown.Level = "expired", "bad"
	}
	var strip strings.Builder
	for _, n := range s.Lanes {
		fmt.Fprintf(&strip, "M%d 0h1v1h-1z", n)
	}
	shown.Strip = strip.String()
	return shown
}

// laneRanges writes ascending numbers as 0–3, 7.
func laneRanges(lanes []int) string {
	var parts []string
	for rest := lanes; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n] == rest[n-1]+1 {
			n++
		}
		part := fmt.Sprint(rest[0])
		if n > 1 {
			part += fmt.Sprintf("–%d", rest[n-1])
		}
		parts = append(parts, part)
		rest = rest[n:]
	}
	return strings.Join(parts, ", ")
}

// Lanes is how many lanes are held by who lives.
func (p relaysPage) Lanes() (n int) {
	for _, s := range p.Sessions {
		if s.Alive() {
			n += len(s.Session.Lanes)
		}
	}
	return n
}

// Strays are the sessions that are over and were not cleared away yet.
func (p relaysPage) Strays() bool {
	return slices.ContainsFunc(p.Sessions, func(s session) bool { return !s.Alive() })
}
