package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/postroom/postroom/gormstore"
)

// migrateJSON is what a migration did.
type migrateJSON struct {
	Version int   `json:"version"` // of the tables now
	Lanes   int   `json:"lanes"`
	Steps   []int `json:"steps"` // the versions that were missing
}

func newMigrate(t *target) *cobra.Command {
	var lanes int
	c := &cobra.Command{
		Use:   "migrate",
		Short: "Make the outbox tables, or bring them to this program's version",
		Long: `Make the outbox tables, or bring them to this program's version.

It may run at every start, and several times at once. See 'postroom schema sql' for the statements.`,
		RunE: func(c *cobra.Command, _ []string) error { return t.migrate(c, lanes) },
	}
	c.Flags().IntVar(&lanes, "lanes", 0, "number of lanes, fixed for good by the first migration (default 64)")
	return c
}

func (t *target) migrate(c *cobra.Command, lanes int) error {
	_, db, end, err := t.open(c.Context())
	if err != nil {
		return err
	}
	defer end()
	config := gormstore.MigrateConfig{Name: t.name, Schema: t.schema, Lanes: lanes}
	missing, err := gormstore.PlanMigration(c.Context(), db, config)
	if err != nil {
		return err
	}
	if err := gormstore.Migrate(c.Context(), db, config); err != nil {
		return err
	}
	report, err := gormstore.CheckSchema(c.Context(), db, config)
	if err != nil {
		return err
	}
	did := migrateJSON{Version: report.Version, Lanes: report.Lanes, Steps: []int{}}
	for _, step := range missing {
		if step.Version > 0 {
			did.Steps = append(did.Steps, step.Version)
		}
	}
	return t.print(c, did, func(w io.Writer) {
		if len(did.Steps) == 0 {
			fmt.Fprint(w, "nothing to do: ")
		}
		fmt.Fprintf(w, "the tables are of version %d, with %s\n", did.Version, count(did.Lanes, "lane"))
	})
}
