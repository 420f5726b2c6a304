package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

const mostListed = 1000 // messages of one page

// listJSON is a page of messages.
type listJSON struct {
	Messages []messageJSON `json:"messages"`
	// NextAfter is what --after takes for the next page; null if this is the last one.
	NextAfter *int64 `json:"next_after"`
}

func newList(t *target) *cobra.Command {
	var flags filterFlags
	var id string
	var after int64
	var limit int
	c := &cobra.Command{
		Use:   "list",
		Short: "List stored messages, in the order in which they were enqueued",
		Example: `  postroom list --status parked --topic orders --error timeout
  postroom list --after 4711 --limit 200 --json`,
		RunE: func(c *cobra.Command, _ []string) error {
			f, err := flags.filter(statuses)
			if err != nil {
				return err
			}
			if id != "" {
				if f.ID, err = parseID(id); err != nil {
					return err
				}
			}
			if limit < 1 || limit > mostListed {
				return usageError{fmt.Errorf("--limit %d: say 1 to %d, and --after for the next page", limit, mostListed)}
			}
			return t.with(c, func(ctx context.Context, store *gormstore.Store) error {
				return t.list(ctx, c, store, f, after, limit)
			})
		},
	}
	flags.register(c.Flags(), statuses)
	c.Flags().StringVar(&id, "id", "", "only the message with this id")
	c.Flags().Int64Var(&after, "after", 0, "begin behind this number")
	c.Flags().IntVar(&limit, "limit", 50, "messages of the page, at most 1000")
	return c
}

func (t *target) list(
	ctx context.Context, c *cobra.Command, store *gormstore.Store, f outbox.Filter, after int64, limit int,
) error {
	f.WithoutPayload = true
	found, err := store.Find(ctx, f, after, limit)
	if err != nil {
		return err
	}
	page := listJSON{Messages: toMessages(found)}
	if len(found) == limit {
		page.NextAfter = &found[limit-1].Number
	}
	return t.print(c, page, func(w io.Writer) {
		if len(found) == 0 {
			fmt.Fprintln(w, "no message matches")
			return
		}
		writeMessages(w, found)
		if page.NextAfter != nil {
			fmt.Fprintf(w, "there may be more: --after %d\n", *page.NextAfter)
		}
	})
}
