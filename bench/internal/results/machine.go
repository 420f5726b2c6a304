package results

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
)

// Machine is what measurements depend on, without names and paths.
type Machine struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	CPUs   int    `json:"cpus"`
	CPU    string `json:"cpu,omitempty"`
	Memory int64  `json:"memory_bytes,omitempty"`
}

// ThisMachine describes the machine of this process. What only Linux tells is left out elsewhere.
func ThisMachine() Machine {
	return Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(),
		CPU: procField("/proc/cpuinfo", "model name"), Memory: memory(),
	}
}

// LoadAverage is how many processes wanted to run in the last minute; 0 where it is unknown.
func LoadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}

func memory() int64 {
	kilobytes, _, _ := strings.Cut(procField("/proc/meminfo", "MemTotal"), " ")
	n, err := strconv.ParseInt(kilobytes, 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// procField returns the value of the first line "name: value" of a file, or nothing.
func procField(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if field, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(field) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// ModuleVersions returns Go's version and those of the modules that are named, as they are built into this process.
func ModuleVersions(modules ...string) map[string]string {
	versions := map[string]string{"go": runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return versions
	}
	for _, m := range modules {
		for _, built := range info.Deps {
			if built.Path == m {
				versions[m] = built.Version
			}
		}
	}
	return versions
}
