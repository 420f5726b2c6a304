package dashboard

import (
	"net/url"

	"github.com/postroom/postroom/outbox"
)

// failuresPage is what fails, grouped by what went wrong.
type failuresPage struct {
	Groups []failure
	Capped bool
}

type failure struct {
	outbox.FailureGroup
	search
}

func (d *Dashboard) failures(v *visit) (page, error) {
	if d.store.overseer == nil {
		return page{}, errNotTold
	}
	all, err := d.store.overseer.Failures(v.Context())
	if err != nil {
		return page{}, err
	}
	p := failuresPage{Capped: all.Capped}
	for _, g := range all.Groups {
		p.Groups = append(p.Groups, failure{g, searchOf(g)})
	}
	return page{"failures", "Failures", p}, nil
}

// searchOf finds the messages of a group again.
func searchOf(g outbox.FailureGroup) search {
	q := url.Values{}
	for name, value := range map[string]string{
		"status": string(g.Status), "topic": g.Topic, "type": g.Type, "class": string(g.Class), "cause": g.Error,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return search{Query: q}
}

// ListPath leads to its messages.
func (f failure) ListPath() string { return "messages?" + f.Query.Encode() }

// Aside reports whether operators can act on it.
func (f failure) Aside() bool { return isAside(f.Status) }
