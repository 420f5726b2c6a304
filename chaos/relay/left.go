package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/goleak"
)

// left is what a process has before it does anything.
type left struct {
	goroutines goleak.Option
	files      []string
}

// leftovers opens a socket first, because the runtime keeps files of its own from the first one on.
func leftovers() left {
	if socket, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0"); err == nil {
		_ = socket.Close()
	}
	return left{goleak.IgnoreCurrent(), files()}
}

// report tells what is left of goroutines, files and sockets that was not there before.
func report(before left, err error) {
	e := event{Event: "ended"}
	if err != nil {
		e.Error = err.Error()
	}
	for deadline := time.Now().Add(closing); ; {
		leak := goleak.Find(before.goroutines, goleak.IgnoreAnyFunction("main.obey")) // waits a little, too
		if leak == nil {
			break
		}
		if time.Now().After(deadline) {
			e.Goroutines = leak.Error()
			break
		}
	}
	e.Files = slices.DeleteFunc(files(), func(f string) bool { return slices.Contains(before.files, f) })
	tell(e)
}

// closing is what pgx takes to close a connection that it has given up, beside all else, and a little more.
const closing = 17 * time.Second

// files lists open files and sockets, where the system shows them; sockets with their ends.
func files() []string {
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return nil
	}
	var open []string
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil {
			continue // of the folder that was read
		}
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			target += " " + connection(strings.TrimSuffix(inode, "]"))
		}
		open = append(open, target)
	}
	return open
}

// connection returns the line in which the system tells of a socket: its ends, in hexadecimal, and its state.
func connection(inode string) string {
	table, err := os.ReadFile("/proc/self/net/tcp")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(table)) {
		if fields := strings.Fields(line); len(fields) > 9 && fields[9] == inode {
			return strings.Join(fields[1:4], " ")
		}
	}
	return ""
}
