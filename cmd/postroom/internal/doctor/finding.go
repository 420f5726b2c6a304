package doctor

// Severity says how urgent a finding is.
type Severity string

// The severities.
const (
	Critical Severity = "critical" // messages do not go out, or may be lost
	Warning  Severity = "warning"  // it costs time, or will
	Notice   Severity = "notice"   // worth knowing, and no fault
)

// Finding is something that is wrong, or may be.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	Subject  string   `json:"subject"` // what it is about: a table, a backend, a topic
	Text     string   `json:"text"`
	Fix      string   `json:"fix"`
}

// Report is what an examination found.
type Report struct {
	Findings []Finding `json:"findings"` // what is most urgent comes first
	Checks   []string  `json:"checks"`   // that were made
}

// Faults returns how many findings are more than notices.
func (r Report) Faults() int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity != Notice {
			n++
		}
	}
	return n
}
