package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/postroom/postroom/cmd/postroom/internal/relayconf"
	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox"
)

// Patient is what is looked at.
type Patient struct {
	DB           *gorm.DB
	Store        *gormstore.Store // on DB
	Schema, Name string           // of the tables
	// Brokers are looked at too, unless there are none.
	Brokers []relayconf.Broker
	// MaxAge is how long a message may wait that is due.
	MaxAge time.Duration
	// Now is this machine's clock.
	Now func() time.Time
}

// check is one question.
type check struct {
	name string
	on   []string // databases; all, if none are named
	// tables says that it reads the outbox's, so that it has nothing to say where these are missing.
	tables bool
	ask    func(*examination, context.Context) ([]Finding, error)
}

const (
	onPostgres = "postgres"
	onMySQL    = "mysql"
)

// checks are all questions, in the order of docs/doctor.md.
var checks = []check{
	{"schema", nil, false, (*examination).schema},
	{"plan", []string{onPostgres}, true, (*examination).plan},
	{"horizon", nil, false, (*examination).horizon},
	{"slots", []string{onPostgres}, false, (*examination).slots},
	{"dead-rows", nil, false, (*examination).deadRows},
	{"autovacuum", []string{onPostgres}, false, (*examination).autovacuum},
	{"settings", nil, false, (*examination).settings},
	{"clock", nil, false, (*examination).clock},
	{"relays", nil, true, (*examination).relays},
	{"backlog", nil, true, (*examination).age},
	{"parked", nil, true, (*examination).parked},
	{"held", nil, true, (*examination).held},
	{"pauses", nil, true, (*examination).pauses},
	{"transports", nil, true, (*examination).transports},
	{"brokers", nil, false, (*examination).brokers},
}

// Checks returns the names of all checks.
func Checks() []string {
	names := make([]string, len(checks))
	for i, c := range checks {
		names[i] = c.name
	}
	return names
}

// askTimeout bounds a check.
const askTimeout = 30 * time.Second

// examination is a look at a patient. What several checks want to know is asked once.
type examination struct {
	Patient
	dialect string
	missing bool // are the tables
	backlog func() (outbox.Backlog, error)
	routes  func() ([]route, error)
}

// Examine makes every check that fits the database. One that cannot be made is a finding too: what is not known is not
// well.
func Examine(ctx context.Context, p Patient) Report {
	e := &examination{Patient: p, dialect: p.DB.Name()}
	e.backlog = once(ctx, p.Store.Backlog)
	e.routes = once(ctx, e.readRoutes)
	r := Report{Findings: []Finding{}, Checks: []string{}}
	for _, c := range checks {
		if len(c.on) > 0 && !slices.Contains(c.on, e.dialect) || c.tables && e.missing {
			continue
		}
		r.Checks = append(r.Checks, c.name)
		r.Findings = append(r.Findings, e.make(ctx, c)...)
	}
	urgency := []Severity{Critical, Warning, Notice}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Compare(slices.Index(urgency, a.Severity), slices.Index(urgency, b.Severity))
	})
	return r
}

// once bounds a question, and asks it at most once.
func once[T any](ctx context.Context, ask func(context.Context) (T, error)) func() (T, error) {
	return sync.OnceValues(func() (T, error) {
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		return ask(ctx)
	})
}

func (e *examination) make(ctx context.Context, c check) []Finding {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	findings, err := c.ask(e, ctx)
	if err != nil {
		findings = append(findings, unknown(err))
	}
	for i := range findings {
		findings[i].Check = c.name
	}
	return findings
}

// unknown is a check that could not be made. Where only a right is missing, others may have it.
func unknown(err error) Finding {
	f := Finding{
		Severity: Warning, Subject: "the check", Text: fmt.Sprintf("it could not be made: %v", err),
		Fix: "see to what the error says, and ask again: what is not known is not well",
	}
	const insufficientPrivilege = "42501"
	refused, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	if ok && refused.SQLState() == insufficientPrivilege {
		f.Severity, f.Fix = Notice, "ask by the account of the relay, or grant the right to this one"
	}
	return f
}

// query scans the rows of a statement.
func query[T any](ctx context.Context, e *examination, statement string, args ...any) (rows []T, err error) {
	err = e.DB.WithContext(ctx).Raw(statement, args...).Scan(&rows).Error
	return rows, err
}
