package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/postroom/postroom/gormstore"
)

// schemaJSON is how the tables are.
type schemaJSON struct {
	Version int         `json:"version"` // of the tables; 0 if there are none
	Want    int         `json:"want"`
	Lanes   int         `json:"lanes"`
	Drift   []driftJSON `json:"drift"` // what breaks comes first
}

type driftJSON struct {
	Object string `json:"object"`
	Want   string `json:"want"`
	Found  string `json:"found"`
	Breaks bool   `json:"breaks"`
}

// stepJSON is one step of a migration.
type stepJSON struct {
	Version    int      `json:"version"`
	Statements []string `json:"statements"`
}

func newSchema(t *target) *cobra.Command {
	c := &cobra.Command{Use: "schema", Short: "Look at the outbox tables, and at what makes them"}
	c.AddCommand(&cobra.Command{
		Use:   "check",
		Short: "Compare the tables with what migrate makes; exits with 3 if they differ",
		RunE:  func(c *cobra.Command, _ []string) error { return t.checkSchema(c) },
	})
	var lanes int
	statements := &cobra.Command{
		Use:   "sql",
		Short: "Print the statements that migrate would run now",
		RunE:  func(c *cobra.Command, _ []string) error { return t.schemaSQL(c, lanes) },
	}
	statements.Flags().IntVar(&lanes, "lanes", 0, "number of lanes of new tables (default 64)")
	c.AddCommand(statements)
	return c
}

var errDrift = errors.New("the tables differ")

func (t *target) checkSchema(c *cobra.Command) error {
	_, db, end, err := t.open(c.Context())
	if err != nil {
		return err
	}
	defer end()
	report, err := gormstore.CheckSchema(c.Context(), db, gormstore.MigrateConfig{Name: t.name, Schema: t.schema})
	if err != nil && !errors.Is(err, gormstore.ErrSchema) {
		return err
	}
	found := schemaJSON{Version: report.Version, Want: report.Want, Lanes: report.Lanes, Drift: []driftJSON{}}
	for _, d := range report.Drift {
		found.Drift = append(found.Drift, driftJSON(d))
	}
	err = t.print(c, found, func(w io.Writer) {
		fmt.Fprintln(w, report)
		switch {
		case report.Version < report.Want:
			fmt.Fprintln(w, "The tables are missing or old: run 'postroom migrate'.")
		case report.Version > report.Want:
			fmt.Fprintln(w, "The tables are newer than this program: update it.")
		}
	})
	if err == nil && (report.Version != report.Want || len(report.Drift) > 0) {
		err = findingError{errDrift}
	}
	return err
}

func (t *target) schemaSQL(c *cobra.Command, lanes int) error {
	_, db, end, err := t.open(c.Context())
	if err != nil {
		return err
	}
	defer end()
	config := gormstore.MigrateConfig{Name: t.name, Schema: t.schema, Lanes: lanes}
	steps, err := gormstore.PlanMigration(c.Context(), db, config)
	if err != nil {
		return err
	}
	list := make([]stepJSON, len(steps))
	for i, s := range steps {
		list[i] = stepJSON(s)
	}
	if t.json {
		return t.print(c, struct {
			Steps []stepJSON `json:"steps"`
		}{list}, nil)
	}
	writeSteps(c.OutOrStdout(), steps)
	return nil
}

func writeSteps(w io.Writer, steps []gormstore.MigrationStep) {
	if len(steps) == 0 {
		fmt.Fprintln(w, "-- nothing to do")
	}
	for _, s := range steps {
		fmt.Fprintf(w, "-- to version %d\nBEGIN;\n", s.Version)
		for _, text := range s.Statements {
			fmt.Fprintf(w, "%s;\n", strings.TrimSuffix(strings.TrimSpace(text), ";"))
		}
		fmt.Fprint(w, "COMMIT;\n\n")
	}
}
