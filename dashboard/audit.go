package dashboard

import (
	"strconv"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

const auditSize = 50

// auditPage is what operators did, the latest first.
type auditPage struct {
	Entries []outbox.AuditEntry
	pager
}

func (d *Dashboard) audit(v *visit) (page, error) {
	if d.store.overseer == nil {
		return page{}, errNotTold
	}
	before, err := readNumber(v, "before")
	if err != nil {
		return page{}, err
	}
	entries, err := d.store.overseer.Audit(v.Context(), uuid.Nil, before, auditSize)
	if err != nil {
		return page{}, err
	}
	p := auditPage{Entries: entries, pager: pager{First: "audit", Back: before > 0}}
	if len(entries) == auditSize {
		p.Next = "audit?before=" + strconv.FormatInt(entries[len(entries)-1].Number, 10)
	}
	return page{"audit", "Audit", p}, nil
}
