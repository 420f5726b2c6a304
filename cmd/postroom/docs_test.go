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

const cliPage = "../../docs/cli.md"

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

// TestPage runs the commands of docs/cli.md one after another, and holds what it shows against what they print.
func TestPage(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(cliPage)
	if err != nil {
		t.Fatal(err)
	}
	d := newPostgreSQL(t)
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
		if err := os.WriteFile(cliPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range newRoot(os.Getenv).Commands() {
		if name := command.Name(); !strings.Contains(page, "## "+name+"\n") && !elsewhere[name] {
			t.Errorf("the page has no section of %q", name)
		}
	}
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
