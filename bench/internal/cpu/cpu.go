// Package cpu tells how much processor time this process and the servers that it talks to have used. Unlike a rate it
// hardly changes with what else the machine has to do. It reads /proc, so it works on Linux alone, and only for
// servers on this machine whose processes this user may look at.
package cpu

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ticks is how many clock ticks /proc counts in a second on Linux.
const ticks = 100

// Meter looks at processes by name of their part, such as "client".
type Meter struct{ roots map[string]int }

// NewMeter returns a meter of this process, called client, and of the processes that listen at the given addresses:
// URLs, or host:port. One that cannot be found is left out.
func NewMeter(servers map[string]string) Meter {
	m := Meter{roots: map[string]int{"client": os.Getpid()}}
	for name, address := range servers {
		if pid, ok := listener(port(address)); ok {
			m.roots[name] = pid
		}
	}
	return m
}

// Seconds returns what each part has used since its start, ended and living children included.
func (m Meter) Seconds() map[string]float64 {
	used := map[string]float64{}
	children := processes()
	for name, pid := range m.roots {
		used[name] = float64(tree(pid, children)) / ticks
	}
	return used
}

// Since returns what each part has used since an earlier answer of Seconds.
func (m Meter) Since(before map[string]float64) map[string]float64 {
	used := m.Seconds()
	maps.DeleteFunc(used, func(name string, _ float64) bool { _, ok := before[name]; return !ok })
	for name := range used {
		used[name] -= before[name]
	}
	return used
}

type process struct{ parent, own, ended int }

// processes returns all that live, by their ids.
func processes() map[int]process {
	found := map[int]process{}
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		found[pid] = parse(string(text))
	}
	return found
}

// parse reads fields 4 and 14 to 17 of proc(5); the name before them is in parentheses and may hold spaces.
func parse(stat string) process {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 15 {
		return process{}
	}
	n := func(field int) int {
		value, _ := strconv.Atoi(fields[field-3])
		return value
	}
	return process{parent: n(4), own: n(14) + n(15), ended: n(16) + n(17)}
}

// tree adds up a process, its ended children, and its living ones.
func tree(pid int, all map[int]process) int {
	sum := all[pid].own + all[pid].ended
	for child, p := range all {
		if p.parent == pid && child != pid {
			sum += tree(child, all)
		}
	}
	return sum
}

func port(address string) string {
	if u, err := url.Parse(address); err == nil && u.Port() != "" {
		return u.Port()
	}
	return address[strings.LastIndexByte(address, ':')+1:]
}

// listener finds the process that listens on a TCP port of this machine; of several that share the socket, the oldest.
func listener(port string) (int, bool) {
	sockets := listening(port)
	paths, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	lowest := 0
	for _, path := range paths {
		target, err := os.Readlink(path)
		if err != nil || !sockets[target] {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(path, "/")[2])
		if err == nil && (lowest == 0 || pid < lowest) {
			lowest = pid
		}
	}
	return lowest, lowest != 0
}

// listening returns the sockets that listen on a port, as links under /proc/…/fd name them.
func listening(port string) map[string]bool {
	const listen = "0A"
	sockets := map[string]bool{}
	n, err := strconv.Atoi(port)
	if err != nil {
		return sockets
	}
	suffix := fmt.Sprintf(":%04X", n)
	for _, path := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) > 9 && strings.HasSuffix(f[1], suffix) && f[3] == listen {
				sockets["socket:["+f[9]+"]"] = true
			}
		}
	}
	return sockets
}
