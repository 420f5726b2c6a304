package dashboard

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/postroom/postroom/outbox"
)

const (
	heldPage  = 20  // keys of a page
	heldLooks = 20  // pages of messages that are read for one of keys, since messages without a key hold nothing
	heldCount = 100 // messages behind one that are looked at

	// heldTime bounds the counting of a page. No index finds a key, so each of its keys takes as long as its lane is.
	heldTime = 2 * time.Second
)

// heldKeys are keys that a message holds, by the number of that message.
type heldKeys struct {
	Status outbox.Status // of the messages that hold
	Rows   []heldKey
	pager
}

type heldKey struct {
	outbox.Record
	Counted bool // there was time for it
	Waiting int  // behind it
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
	if p.Rows, err = d.countBehind(v.Context(), blocking); err != nil {
		return page{}, err
	}
	if next > 0 {
		p.Next = "held?" + url.Values{"status": {string(p.Status)}, "after": {strconv.FormatInt(next, 10)}}.Encode()
	}
	return page{"held", "Held keys", p}, nil
}

// countBehind counts as long as there is time.
func (d *Dashboard) countBehind(ctx context.Context, blocking []outbox.Record) ([]heldKey, error) {
	bounded, cancel := context.WithTimeout(ctx, min(heldTime, d.config.Timeout/2))
	defer cancel()
	rows := make([]heldKey, len(blocking))
	for i, r := range blocking {
		rows[i].Record = r
		if bounded.Err() != nil {
			continue
		}
		behind, err := d.store.Find(bounded, outbox.Filter{Key: r.Key, WithoutPayload: true}, r.Number, heldCount)
		switch {
		case err == nil:
			rows[i].Counted, rows[i].Capped = true, len(behind) == heldCount
		case bounded.Err() == nil || ctx.Err() != nil:
			return nil, err
		}
		for _, b := range behind {
			if b.Status == outbox.StatusHeld {
				rows[i].Waiting++
			}
		}
	}
	return rows, nil
}

// blocking returns the first message of each key, and after which number the next page begins; 0 for nowhere.
func (d *Dashboard) blocking(
	v *visit, status outbox.Status, after int64,
) (found []outbox.Record, next int64, err error) {
	seen := map[string]bool{"": true}
	for range heldLooks {
		rows, err := d.store.Find(v.Context(), outbox.Filter{Status: status, WithoutPayload: true}, after, pageSize)
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
