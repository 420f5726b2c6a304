package dashboard

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/postroom/postroom/outbox"
)

// pausesPage is what operators hold back.
type pausesPage struct {
	Pauses []outbox.Pause
}

func (d *Dashboard) pauses(v *visit) (page, error) {
	if d.store.pauser == nil {
		return page{}, errNotTold
	}
	pauses, err := d.store.pauser.Pauses(v.Context())
	if err != nil {
		return page{}, err
	}
	return page{"pauses", "Pauses", pausesPage{pauses}}, nil
}

// pause pauses or resumes a scope.
func (d *Dashboard) pause(v *visit) (string, error) {
	if d.store.pauser == nil {
		return "", errNotTold
	}
	scope, err := readScope(v)
	if err != nil {
		return "", err
	}
	act, deed := actOf(v), v.PostFormValue("deed")
	switch deed {
	case "pause":
		err = d.store.pauser.Pause(v.Context(), act, scope)
	case "resume":
		err = d.store.pauser.Resume(v.Context(), act, scope)
	default:
		return "", errNoDeed
	}
	if err != nil {
		return "", asRefusal(err)
	}
	return "pauses?" + url.Values{"done": {deed}}.Encode(), nil
}

// readScope takes everything only from who says so.
func readScope(v *visit) (s outbox.Scope, err error) {
	name := v.PostFormValue("name")
	switch what := v.PostFormValue("scope"); {
	case what == "all":
		return s, nil
	case name == "":
		return s, badField("name", "Name the topic or the key.")
	case what == "topic":
		s.Topic = name
	case what == "key":
		s.Key = name
	default:
		return s, badField("scope", "Choose a topic, a key, or everything.")
	}
	return s, nil
}

// asRefusal tells the visitor what is wrong with what they wrote.
func asRefusal(err error) error {
	if field, ok := errors.AsType[*outbox.FieldError](err); ok {
		return &refusal{http.StatusBadRequest, "Nothing was done", field.Error()}
	}
	return err
}
