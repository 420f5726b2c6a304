package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/postroom/postroom/gormstore"
)

const purgeBatch = 1000 // messages of one transaction

func newPurge(t *target) *cobra.Command {
	var act actFlags
	var olderThan time.Duration
	c := &cobra.Command{
		Use:   "purge --older-than AGE --reason WHY",
		Short: "Remove delivered messages from the archive",
		Long: `Remove messages from the archive that were delivered longer ago than --older-than.

Small transactions do it, which wait for nobody. What is not delivered stays. Relays with an archive do the same by
themselves, by its retention.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if !c.Flags().Changed("older-than") || olderThan < 0 {
				return usageError{errors.New("say by --older-than how long delivered messages are kept, such as 720h")}
			}
			a, err := act.upon(fmt.Sprint("older than ", olderThan))
			if err != nil {
				return err
			}
			return t.with(c, func(ctx context.Context, store *gormstore.Store) error {
				if err := store.Record(ctx, a, "purge"); err != nil {
					return err
				}
				return t.purge(ctx, c, store, olderThan)
			})
		},
	}
	act.register(c.Flags())
	c.Flags().DurationVar(&olderThan, "older-than", 0, "delivered longer ago than this (required)")
	return c
}

func (t *target) purge(ctx context.Context, c *cobra.Command, store *gormstore.Store, keep time.Duration) error {
	bar := newBar(c, "purging", -1)
	defer bar.end()
	all := 0
	for {
		n, err := store.PurgeArchive(ctx, keep, purgeBatch)
		if err != nil {
			return fmt.Errorf("after %s: %w", count(all, "message"), err)
		}
		all += n
		bar.add(n)
		if n < purgeBatch {
			break
		}
	}
	bar.end()
	return t.print(c, struct {
		Purged int `json:"purged"`
	}{all}, func(w io.Writer) { fmt.Fprintf(w, "purged %s\n", count(all, "message")) })
}
