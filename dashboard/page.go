package dashboard

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"
)

// visit is one request of somebody who may see something.
type visit struct {
	Visitor
	*http.Request
	Base string // leads from the page back to the overview
	Now  time.Time
}

func (d *Dashboard) visit(r *http.Request) *visit {
	v := &visit{Request: r, Base: "./" + strings.Repeat("../", strings.Count(r.URL.Path, "/")-1), Now: d.now()}
	v.Visitor, _ = r.Context().Value(visitorKey{}).(Visitor)
	return v
}

// page is what a builder makes of a visit: the name of its template, a title, and what the template shows.
type page struct {
	name    string
	title   string
	content any
}

type builder func(v *visit) (page, error)

// The errors that people see, each with its status.
var (
	errNoPage    = &refusal{http.StatusNotFound, "There is no such page", "The address may be incomplete."}
	errForbidden = &refusal{
		http.StatusForbidden, "Your role does not allow this", "Ask whoever runs this service for the role that it takes.",
	}
	errNotTold = &refusal{
		http.StatusNotImplemented, "The store does not tell",
		"This page needs a store that keeps such records; the one that is used here does not.",
	}
)

// refusal is an error that the visitor is told.
type refusal struct {
	status int
	Title  string
	Hint   string
}

func (e *refusal) Error() string { return e.Title }

// page answers with what build makes.
func (d *Dashboard) page(build builder) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := d.visit(r)
		p, err := build(v)
		if err != nil {
			d.refuse(w, v, err)
			return
		}
		d.show(w, v, http.StatusOK, p)
	})
}

// deed does what a form asks for, after making sure that it is a form of ours, sent by who may act, and leads to the
// page that shows what was done.
func (d *Dashboard) deed(form string, do func(v *visit) (location string, err error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := d.visit(r)
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		location, err := "", d.admit(v, form)
		if err == nil {
			location, err = do(v)
		}
		if err != nil {
			d.refuse(w, v, err)
			return
		}
		w.Header().Set("Location", v.Base+location)
		w.WriteHeader(http.StatusSeeOther)
	})
}

const maxForm = 256 << 10

func (d *Dashboard) admit(v *visit, form string) error {
	if !v.Act {
		return errForbidden
	}
	if err := d.origins.Check(v.Request); err != nil {
		return &refusal{http.StatusForbidden, "The request came from another site", "Nothing was done. Use our own forms."}
	}
	if err := v.ParseForm(); err != nil {
		return &refusal{http.StatusBadRequest, "The form could not be read", "Nothing was done. Open the page again."}
	}
	if !hasToken(v.Request, form, v.Name) {
		return &refusal{
			http.StatusForbidden, "The form is out of date",
			"Nothing was done. Open the page again, with cookies allowed, and repeat.",
		}
	}
	return nil
}

// refuse shows an error: one that the visitor is told, or that the store gave no answer, which is logged.
func (d *Dashboard) refuse(w http.ResponseWriter, v *visit, err error) {
	told, ok := errors.AsType[*refusal](err)
	if !ok && errors.Is(v.Context().Err(), context.Canceled) {
		return // the visitor has left
	}
	if !ok {
		d.config.Logger.ErrorContext(v.Context(), "outbox: dashboard got no answer", "path", v.URL.Path, "error", err)
		told = &refusal{http.StatusServiceUnavailable, "The store does not answer", "The log of the service says why."}
		if errors.Is(err, context.DeadlineExceeded) {
			told.Hint = "It took longer than the dashboard waits. A filter that is narrower is faster."
		}
	}
	d.show(w, v, told.status, page{name: "refusal", title: told.Title, content: told})
}

func (d *Dashboard) show(w http.ResponseWriter, v *visit, status int, p page) {
	f := frame{
		visit: v, Title: p.title, Outbox: d.config.Title, Page: p.name, Content: p.content, Notice: noticeOf(v),
	}
	if v.Act {
		f.secret = keepSecret(w, v.Request)
	}
	var body bytes.Buffer
	if err := d.views[p.name].ExecuteTemplate(&body, "frame", f); err != nil {
		d.config.Logger.ErrorContext(v.Context(), "outbox: dashboard could not draw a page", "page", p.name, "error", err)
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body.Bytes()) // who has left needs no answer
}
