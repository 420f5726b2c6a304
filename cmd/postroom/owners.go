package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// sessionJSON is one run of a relay.
type sessionJSON struct {
	ID            uuid.UUID `json:"id"`
	Relay         string    `json:"relay"`
	State         string    `json:"state"` // alive, expired or stopped
	Lanes         []int     `json:"lanes"`
	InFlight      int       `json:"in_flight"`
	AgeSeconds    float64   `json:"age_seconds"`
	ExpirySeconds float64   `json:"expiry_seconds"`
}

func newOwners(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "owners",
		Short: "Show the sessions of relays, their lanes, and what they have in flight",
		RunE: func(c *cobra.Command, _ []string) error {
			return t.with(c, func(ctx context.Context, store *gormstore.Store) error {
				sessions, err := store.Sessions(ctx)
				if err != nil {
					return err
				}
				return t.print(c, struct {
					Sessions []sessionJSON `json:"sessions"`
				}{toSessions(sessions)}, func(w io.Writer) { writeOwners(w, sessions) })
			})
		},
	}
}

func toSessions(sessions []outbox.Session) []sessionJSON {
	list := make([]sessionJSON, len(sessions))
	for i, s := range sessions {
		lanes := s.Lanes
		if lanes == nil {
			lanes = []int{}
		}
		list[i] = sessionJSON{s.ID, s.Relay, stateOf(s), lanes, s.InFlight, seconds(s.Age), seconds(s.Expiry)}
	}
	return list
}

func stateOf(s outbox.Session) string {
	switch {
	case s.Stopped:
		return "stopped"
	case s.Expiry <= 0:
		return "expired"
	}
	return "alive"
}

func writeOwners(w io.Writer, sessions []outbox.Session) {
	if len(sessions) == 0 {
		fmt.Fprintln(w, "no relay runs: nothing is published")
		return
	}
	row(w, "RELAY", "SESSION", "STATE", "AGE", "EXPIRES", "IN FLIGHT", "LANES")
	for _, s := range sessions {
		row(w, s.Relay, s.ID, stateOf(s), span(s.Age), span(s.Expiry), s.InFlight, cmp.Or(ranges(s.Lanes), "none"))
	}
}

// ranges writes ascending numbers as 0-3,5.
func ranges(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		part := strconv.Itoa(numbers[i])
		if j > i {
			part += "-" + strconv.Itoa(numbers[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}
