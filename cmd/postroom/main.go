// Command postroom is the outbox for operators: migrate, relay, look, and act.
//
// Every command prints text for people, or with --json one JSON document; relay runs and logs.
// It exits with 0 when all is well, 1 when something failed, 2 when it was called wrongly, and 3 when it did its work
// and found something that needs attention.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// The exit codes. They are an interface: scripts rely on them.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitFinding = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal kills
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run is the program; it returns its exit code.
func run(ctx context.Context, args []string, getenv func(string) string, out, errs io.Writer) int {
	root := newRoot(getenv)
	strictHelp(root)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	var finding findingError
	var logged loggedError
	var wrong usageError
	var field *outbox.FieldError // no command writes messages: it is a flag's
	switch {
	case err == nil:
		return 0
	case errors.As(err, &finding):
		return exitFinding // what was found is printed already
	case errors.As(err, &logged):
		return exitFailed
	case errors.As(err, &wrong), errors.As(err, &field):
		fmt.Fprintf(errs, "postroom: %v\nSee 'postroom help'.\n", err)
		return exitUsage
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = fmt.Errorf("interrupted: %w", err)
	}
	fmt.Fprintf(errs, "postroom: %v\n", err)
	if errors.Is(err, gormstore.ErrSchema) {
		fmt.Fprintln(errs, "See 'postroom schema check', and 'postroom migrate' for tables that are missing or old. "+
			"For those of another outbox: --database, --schema, --name.")
	}
	return exitFailed
}

// findingError ends a command that did its work and found something.
type findingError struct{ error }

// loggedError ends a command that has logged why.
type loggedError struct{ error }

// usageError is a fault in how the command was called.
type usageError struct{ error }

// commands is what the program can do; each has a file of its own.
var commands = []func(*target) *cobra.Command{
	newMigrate,
	newSchema,
	newStatus,
	newOwners,
	newList,
	newShow,
	newRequeue,
	newDiscard,
	newSkip,
	newPause,
	newResume,
	newRelease,
	newPurge,
	newRelay,
	newDoctor,
	newVerify,
}

func newRoot(getenv func(string) string) *cobra.Command {
	root := &cobra.Command{
		Use:   "postroom",
		Short: "Operate a transactional outbox on PostgreSQL, MariaDB or MySQL",
		Long: `Operate a transactional outbox on PostgreSQL, MariaDB or MySQL.

An outbox on SQLite lives inside its application, which operates it through package gormstore.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	t := newTarget(root, getenv)
	for _, command := range commands {
		root.AddCommand(command(t))
	}
	strict(root)
	return root
}

// strictHelp makes help about a command that is not there a usage error, too.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Args = func(_ *cobra.Command, args []string) error {
		if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
			return usageError{fmt.Errorf("unknown command %q for %q", strings.Join(args, " "), root.Name())}
		}
		return nil
	}
}

// strict makes arguments that a command does not take, and a command that is not there, usage errors.
func strict(c *cobra.Command) {
	check := c.Args
	if check == nil {
		check = cobra.NoArgs
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usageError{err}
		}
		return nil
	}
	if !c.Runnable() {
		c.RunE = func(c *cobra.Command, _ []string) error {
			return usageError{fmt.Errorf("say which command of %q", c.CommandPath())}
		}
	}
	for _, sub := range c.Commands() {
		strict(sub)
	}
}
