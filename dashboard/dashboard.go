package dashboard

import (
	"cmp"
	"context"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/postroom/postroom/outbox"
)

// Dashboard serves the pages. It is an [http.Handler] for a path of its own, see [Config.Prefix].
type Dashboard struct {
	config  Config
	store   store
	mux     *http.ServeMux
	views   views
	origins http.CrossOriginProtection
	sampler *sampler
	now     func() time.Time
}

// store is what a store can tell; nil is what this one cannot.
type store struct {
	outbox.Inspector
	backlog  outbox.Backlogger
	overseer outbox.Overseer
	pauser   outbox.Pauser
}

// New returns a dashboard, or an [*outbox.FieldError] that says what is missing: above all, who may see it.
func New(config Config) (*Dashboard, error) {
	config = config.withDefaults()
	if err := config.check(); err != nil {
		return nil, err
	}
	views, err := parseViews()
	if err != nil {
		return nil, err
	}
	d := &Dashboard{config: config, store: store{Inspector: config.Store}, views: views, now: time.Now}
	d.store.backlog, _ = config.Store.(outbox.Backlogger)
	d.store.overseer, _ = config.Store.(outbox.Overseer)
	d.store.pauser, _ = config.Store.(outbox.Pauser)
	d.sampler = newSampler(d)
	return d, d.route()
}

// Run keeps the charts going while nobody looks: it asks the store for its backlog every five seconds until ctx ends.
// It is optional: without it, the charts begin when somebody opens the overview.
func (d *Dashboard) Run(ctx context.Context) error {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		d.sampler.read(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (d *Dashboard) route() error {
	assets, err := fs.Sub(files, "assets")
	if err != nil {
		return err
	}
	d.mux = http.NewServeMux()
	d.mux.Handle("GET /assets/{name}", http.StripPrefix("/assets/", cached(http.FileServerFS(assets))))
	for pattern, build := range map[string]builder{
		"/{$}":           d.overview,
		"/relays":        d.relays,
		"/messages":      d.messages,
		"/messages/{id}": d.message,
		"/failures":      d.failures,
		"/held":          d.held,
		"/pauses":        d.pauses,
		"/audit":         d.audit,
		"/act":           d.preview,
	} {
		d.mux.Handle("GET "+pattern, d.page(build))
	}
	d.mux.Handle("POST /act", d.deed("act", d.act))
	d.mux.Handle("POST /pauses", d.deed("pauses", d.pause))
	d.mux.Handle("/", d.page(func(*visit) (page, error) { return page{}, errNoPage }))
	return nil
}

// ServeHTTP lets in who may see something. Whoever may not learns nothing, not even which pages there are.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	harden(w.Header())
	visitor, err := d.config.Authorize(r)
	switch {
	case err != nil:
		d.config.Logger.WarnContext(r.Context(), "outbox: dashboard could not find out who asks", "error", err)
		http.Error(w, http.StatusText(http.StatusServiceUnavailable), http.StatusServiceUnavailable)
		return
	case !visitor.seesCounts():
		http.Error(w, http.StatusText(http.StatusForbidden), http.StatusForbidden)
		return
	}
	inside, ok := strings.CutPrefix(r.URL.Path, d.config.Prefix)
	if ok && inside == "" {
		toFolder(w, r)
		return
	}
	if !ok || path.Clean(inside) != "/"+strings.Trim(inside, "/") || strings.Contains(inside, "//") {
		inside = "/-" // no page, rather than a redirect out of the prefix
	}
	ctx, cancel := context.WithTimeout(r.Context(), d.config.Timeout)
	defer cancel()
	r = r.Clone(context.WithValue(ctx, visitorKey{}, visitor))
	r.URL.Path, r.URL.RawPath = inside, ""
	d.mux.ServeHTTP(w, r)
}

type visitorKey struct{}

// toFolder leads from /outbox to /outbox/, to which the links of the pages are relative. RequestURI has the path also
// behind [http.StripPrefix].
func toFolder(w http.ResponseWriter, r *http.Request) {
	asked, _, _ := strings.Cut(r.RequestURI, "?")
	w.Header().Set("Location", path.Base(cmp.Or(asked, r.URL.Path))+"/")
	w.WriteHeader(http.StatusSeeOther)
}
