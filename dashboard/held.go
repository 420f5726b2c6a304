package dashboard

import (
	"net/url"
	"strconv"

	"github.com/postroom/postroom/outbox"
)

const (
	heldPage  = 20  // keys of a page
	heldLooks = 20  // pages of messages that are read for one of keys, since messages without a key hold nothing
	heldCount = 100 // waiting messages that are counted
)

// heldKeys are keys that a message holds, by the number of that message.
type heldKeys struct {
	Status outbox.Status // of the messages that hold
	Rows   []heldKey
	pager
}

type heldKey struct {
	outbox.Record
	Waiting int // behind it
	Capped  bool
}

// Statuses are those that hold a key.
func (heldKeys) Statuses() []outbox.Status {
	return []outbox.Status{outbox.StatusParked, outbox.StatusRetrying, outbox.StatusSuspect, outbox.StatusPaused}
}

func (d *Dashboard) held(v *visit) (page, error) {
	p := heldKeys{Status: outbox.StatusParked}
	for _, s := range p.Statuses() {
		if v.FormValue("status") == string(s) {
			p.Status = s
		}
	}
	after, err := readNumber(v, "after")
	if err != nil {
		return page{}, err
	}
	p.pager = pager{First: "held?status=" + string(p.Status), Back: after > 0}
	blocking, next, err := d.blocking(v, p.Status, after)
	if err != nil {
		return page{}, err
	}
	for _, r := range blocking {
		behind, err := d.store.Find(v.Context(), outbox.Filter{Status: outbox.StatusHeld, Key: r.Key}, 0, heldCount)
		if err != nil {
			return page{}, err
		}
		p.Rows = append(p.Rows, heldKey{r, len(behind), len(behind) == heldCount})
	}
	if next > 0 {
		p.Next = "held?" + url.Values{"status": {string(p.Status)}, "after": {strconv.FormatInt(next, 10)}}.Encode()
	}
	return page{"held", "Held keys", p}, nil
}

// blocking returns the first message of each key, and after which number the next page begins; 0 for nowhere.
func (d *Dashboard) blocking(
	v *visit, status outbox.Status, after int64,
) (found []outbox.Record, next int64, err error) {
	seen := map[string]bool{"": true}
	for range heldLooks {
		rows, err := d.store.Find(v.Context(), outbox.Filter{Status: status}, after, pageSize)
		if err != nil {
			return nil, 0, err
		}
		for _, r := range rows {
			after = r.Number
			if !seen[r.Key] {
				seen[r.Key] = true
				found = append(found, r)
			}
			if len(found) == heldPage {
				return found, after, nil
			}
		}
		if len(rows) < pageSize {
			return found, 0, nil
		}
	}
	return found, after, nil
}
