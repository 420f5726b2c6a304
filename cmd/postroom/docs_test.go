package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the commands of docs/cli.md print into it")

// The pages whose commands are run. Both find the outbox of [testDatabase.seed].
const (
	cliPage = "../../docs/cli.md"
	whyPage = "../../docs/why-did-my-message-not-arrive.md"
)

// example is a block of the page: a command, and all that it prints. exit=3 says how it ends, if not with 0.
var example = regexp.MustCompile("(?s)```console( exit=\\d)?\n\\$ postroom ([^\n]*)\n(.*?)```")

// volatile is what differs from run to run.
var volatile = []struct {
	text *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f-]{17}`), "SESSION"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "INSTANT"},
	{regexp.MustCompile(`\b\d+(ms|s|m\d+s|h\d+m|d\d+h)\b`), "SPAN"},
	{regexp.MustCompile(`(_seconds": )[0-9.]+`), "${1}SECONDS"},
	{regexp.MustCompile(`  +`), "  "}, // which columns have less or more of
}

// lasting is text without what is volatile.
func lasting(text string) string {
	for _, v := range volatile {
		text = v.text.ReplaceAllString(text, v.name)
	}
	return text
}

// TestPage runs the commands of a page one after another, and holds what it shows against what they print.
func TestPage(t *testing.T) {
	t.Parallel()
	t.Run("cli_shows_what_every_command_prints", func(t *testing.T) {
		t.Parallel()
		page := runPage(t, newPostgreSQL(t), cliPage)
		for _, command := range newRoot(os.Getenv).Commands() {
			if name := command.Name(); !strings.Contains(page, "## "+name+"\n") && !elsewhere[name] {
				t.Errorf("the page has no section of %q", name)
			}
		}
	})
	t.Run("why_shows_where_messages_stand", func(t *testing.T) {
		t.Parallel()
		d := newPostgreSQL(t).migrate()
		page := runPage(t, d, whyPage)
		for _, m := range regexp.MustCompile(`(?m)^postroom ([^#\n]*)`).FindAllStringSubmatch(page, -1) {
			args := words(m[1])
			command, rest, err := newRoot(os.Getenv).Find(args)
			if err == nil {
				err = command.ParseFlags(rest)
			}
			if err != nil {
				t.Errorf("postroom %s: %v", m[1], err)
			}
		}
	})
}

// runPage returns the page as it is, or should be.
func runPage(t *testing.T, d *testDatabase, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	seeded := false
	page := example.ReplaceAllStringFunc(string(raw), func(block string) string {
		m := example.FindStringSubmatch(block)
		args := words(m[2])
		if args[0] == "status" && !seeded {
			seeded = true
			d.seed()
			execute(t, d.db, "UPDATE outbox_messages SET created_at = created_at - interval '2 hours'")
		}
		r := d.run(args...)
		code := ""
		if r.code != 0 {
			code = fmt.Sprint(" exit=", r.code)
		}
		if code != m[1] {
			t.Errorf("%s: exit code %d, not as the page says", m[2], r.code)
		}
		if diff := cmp.Diff(lasting(m[3]), lasting(r.out+r.errs)); diff != "" && !*update {
			t.Errorf("%s (-page +printed), see -update:\n%s", m[2], diff)
		}
		return "```console" + m[1] + "\n$ postroom " + m[2] + "\n" + r.out + r.errs + "```"
	})
	if *update {
		if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return page
}

// elsewhere are the commands that have pages of their own, and those of the library.
var elsewhere = map[string]bool{"relay": true, "doctor": true, "verify": true, "completion": true, "help": true}

// words cuts a line as a shell does, as far as the page needs it.
func words(line string) (list []string) {
	for _, m := range regexp.MustCompile(`"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		list = append(list, m[1]+m[2])
	}
	return list
}
