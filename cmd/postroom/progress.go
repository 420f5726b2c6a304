package main

import (
	"fmt"
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// bar shows people how far long work has come, where the standard error is a terminal.
type bar struct {
	*progressbar.ProgressBar
	what string
	errs io.Writer
	said bool
}

// newBar is a bar of so many messages, -1 if that is not known.
func newBar(c *cobra.Command, what string, messages int) *bar {
	b := &bar{what: what, errs: c.ErrOrStderr()}
	if file, ok := b.errs.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		b.ProgressBar = progressbar.NewOptions(messages,
			progressbar.OptionSetWriter(file), progressbar.OptionSetDescription(what), progressbar.OptionShowCount(),
			progressbar.OptionShowIts(), progressbar.OptionSetItsString("messages"),
			progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth())
	}
	return b
}

func (b *bar) add(n int) {
	if b.ProgressBar != nil {
		b.Describe(b.what)
		_ = b.Add(n) // the work does not fail with it
	}
}

// waits says what the work waits for: always on a terminal, once elsewhere.
func (b *bar) waits(why string) {
	switch {
	case b.ProgressBar != nil:
		b.Describe(b.what + ", waiting: " + why)
	case !b.said:
		b.said = true
		fmt.Fprintf(b.errs, "waiting: %s\n", why)
	}
}

// end takes the bar away.
func (b *bar) end() {
	if b.ProgressBar != nil {
		_ = b.Exit()
		_ = b.Clear()
	}
}
