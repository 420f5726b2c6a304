package dashboard

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/postroom/postroom/outbox"
)

// deeds are what operators do with messages, and with scopes.
var deeds = map[string]struct {
	do         outbox.Deed
	verb, past string
	means      string
}{
	"requeue": {
		outbox.Inspector.Requeue, "Requeue", "Requeued",
		"They are due at once, before all later messages of their keys, with their attempts counted from zero.",
	},
	"discard": {
		outbox.Inspector.Discard, "Discard", "Discarded",
		"They are removed for good and never delivered. Their keys go on.",
	},
	"skip": {
		outbox.Inspector.Skip, "Skip", "Skipped",
		"Their keys go on without them. The messages stay here, and can still be requeued or discarded.",
	},
	"pause":  {past: "Paused"},
	"resume": {past: "Resumed"},
}

var errNoDeed = &refusal{http.StatusBadRequest, "There is no such act", "Open the page again and use its buttons."}

const (
	previewed = 1000 // messages that are looked at before an act
	sampled   = 10   // messages of these that are shown
	actPage   = 100  // messages of one transaction
)

// actPreview is what an act would do: a dry run.
type actPreview struct {
	search
	Deed      string
	Verb      string
	Means     string
	Count     int
	Capped    bool // there are more: the count is a lower bound
	Uncertain int  // of those counted, a broker may hold a copy
	Sample    []outbox.Record
	IDs       string // of those counted
}

// preview shows what an act upon the messages of a search would do.
func (d *Dashboard) preview(v *visit) (page, error) {
	name := v.FormValue("deed")
	deed := deeds[name]
	switch {
	case !v.Act:
		return page{}, errForbidden
	case deed.do == nil:
		return page{}, errNoDeed
	}
	s, err := readSearch(v)
	if err != nil {
		return page{}, err
	}
	p := actPreview{search: s, Deed: name, Verb: deed.verb, Means: deed.means}
	var ids []string
	for r, err := range d.chosen(v.Context(), s, v.Form["id"], name) {
		if err != nil {
			return page{}, err
		}
		if len(ids) == previewed {
			p.Capped = true
			break
		}
		ids = append(ids, r.ID.String())
		if r.Uncertain {
			p.Uncertain++
		}
		if len(p.Sample) < sampled {
			p.Sample = append(p.Sample, r)
		}
	}
	p.Count, p.IDs = len(ids), strings.Join(ids, " ")
	return page{"act", deed.verb + " messages", p}, nil
}

// act does what was previewed: to exactly the messages that were counted, or to all that match if there were more.
func (d *Dashboard) act(v *visit) (string, error) {
	name := v.PostFormValue("deed")
	deed := deeds[name]
	if deed.do == nil {
		return "", errNoDeed
	}
	act := actOf(v)
	if err := act.Check(); err != nil {
		return "", asRefusal(err)
	}
	done, asked := 0, 0
	change := func(ids []uuid.UUID) error {
		n, err := deed.do(d.store, v.Context(), act, ids...)
		done, asked = done+n, asked+len(ids)
		return err
	}
	var err error
	if v.PostFormValue("all") != "" {
		err = d.changeAll(v, name, change)
	} else {
		err = changeListed(v.PostFormValue("ids"), change)
	}
	if done > 0 {
		d.config.Logger.InfoContext(v.Context(), "outbox: dashboard acted on messages",
			"deed", name, "by", act.By, "messages", done)
	}
	if err != nil && done > 0 {
		d.config.Logger.WarnContext(v.Context(), "outbox: dashboard did a part of an act", "messages", done, "error", err)
		return "", &refusal{
			http.StatusServiceUnavailable, deed.past + " " + plural(done, "message", "messages") + ", then it broke off",
			"Do the same again for the rest.",
		}
	}
	q := url.Values{"done": {name}, "n": {strconv.Itoa(done)}, "of": {strconv.Itoa(asked)}}
	return "audit?" + q.Encode(), err
}

func actOf(v *visit) outbox.Act {
	return outbox.Act{By: v.Name, Reason: strings.TrimSpace(v.PostFormValue("reason"))}
}

func (d *Dashboard) changeAll(v *visit, deed string, change func([]uuid.UUID) error) error {
	s, err := readSearch(v)
	if err != nil {
		return err
	}
	var ids []uuid.UUID
	for r, err := range d.chosen(v.Context(), s, nil, deed) {
		if err != nil {
			return err
		}
		if ids = append(ids, r.ID); len(ids) == actPage {
			if err := change(ids); err != nil {
				return err
			}
			ids = ids[:0]
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return change(ids)
}

// changeListed keeps the order of the list, which is that of the numbers.
func changeListed(list string, change func([]uuid.UUID) error) error {
	var ids []uuid.UUID
	for text := range strings.FieldsSeq(list) {
		id, err := uuid.Parse(text)
		if err != nil {
			return badField("ids", "Open the page again and use its buttons.")
		}
		ids = append(ids, id)
	}
	for len(ids) > 0 {
		n := min(actPage, len(ids))
		if err := change(ids[:n]); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}

// noticeOf says what the act did that led here.
func noticeOf(v *visit) string {
	deed, ok := deeds[v.URL.Query().Get("done")]
	if !ok {
		return ""
	}
	done, err := strconv.Atoi(v.URL.Query().Get("n"))
	if err != nil {
		return deed.past + "."
	}
	notice := deed.past + " " + plural(done, "message", "messages") + "."
	if asked, err := strconv.Atoi(v.URL.Query().Get("of")); err == nil && asked > done {
		notice += " " + plural(asked-done, "other was", "others were") + " changed by somebody else meanwhile."
	}
	return notice
}
