package relays

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/postroom/postroom/bench/internal/latency"
	"github.com/postroom/postroom/bench/internal/servers"
	"github.com/postroom/postroom/bench/internal/subject"
)

// The figures.
const (
	LanesApart = "lanes_apart" // between the relay with most lanes and that with fewest
	Resting    = "resting_mb"  // most memory of a relay that has had nothing to do
	Peak       = "peak_mb"     // most memory of one that has emptied a table
	Above      = "above_share" // Peak less Resting, as a share of 2 × workers × bytes of a batch
	Longest    = "longest_s"   // from a commit to a consumer, while a relay ended
)

// Drain fills the table in one transaction while n relays wait, each with its share of the lanes, and lets them empty
// it. The clock of site runs from the commit.
func Drain(ctx context.Context, n int, name string, site subject.Site) (figures map[string]float64, err error) {
	g, err := open(ctx, n, name, site, 0, site.Progress.Add)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if err := g.store.FillAtOnce(ctx, site); err != nil {
		return nil, err
	}
	site.Progress.Begin()
	if err := site.Progress.Wait(ctx, nil); err != nil {
		return nil, err
	}
	site.Progress.End()
	_, _, apart, err := g.lanes(ctx)
	return map[string]float64{LanesApart: float64(apart)}, err
}

// Memory lets a new relay empty a full table, and looks at the memory of its process.
func Memory(ctx context.Context, name string, site subject.Site) (figures map[string]float64, err error) {
	idle, err := open(ctx, 1, name, site, 0, func(int) {})
	if err != nil {
		return nil, err
	}
	resting := idle.processes[0].peak()
	if err := idle.close(); err != nil {
		return nil, err
	}
	if err := fill(ctx, site); err != nil {
		return nil, err
	}
	site.Progress.Begin()
	g, err := open(ctx, 1, name, site, 0, site.Progress.Add)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	if err := site.Progress.Wait(ctx, nil); err != nil {
		return nil, err
	}
	site.Progress.End()
	const mb = 1 << 20
	peak := g.processes[0].peak()
	return map[string]float64{
		Resting: resting / mb, Peak: peak / mb, Above: (peak - resting) / (2 * subject.Workers * subject.BatchBytes),
	}, nil
}

func fill(ctx context.Context, site subject.Site) error {
	s, err := subject.OpenStore(ctx, site)
	if err != nil {
		return err
	}
	return errors.Join(s.Fill(ctx, site), s.Close())
}

// How one of two relays ends.
const (
	Deployment = "SIGTERM"
	Crash      = "kill -9"
)

// Lease is that of the relays of Takeover, shorter than the default so that a crash is over soon; renewals are a third
// of it, as they are by default.
const Lease = 3 * time.Second

// Takeover offers perSecond messages a second to two relays, of which one ends after a quarter of the time. The
// longest way of a message is what its peer needed to take over, and more.
func Takeover(
	ctx context.Context, how, name string, site subject.Site, to servers.Destination,
) (r latency.Result, err error) {
	const perSecond = 500
	g, err := open(ctx, 2, name, site, Lease, func(int) {})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	flow, err := subject.OpenWriting(ctx, site)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, flow.Close()) }()
	ended := make(chan error, 1)
	quarter := time.Duration(site.Load.Messages) * time.Second / perSecond / 4
	timer := time.AfterFunc(quarter, func() { ended <- g.processes[0].end(how) })
	r, err = latency.Measure(ctx, flow, to, site.Load, perSecond)
	if timer.Stop() {
		return r, errors.Join(err, errors.New("the load was over before a relay ended"))
	}
	if err = errors.Join(err, <-ended); err != nil {
		return r, err
	}
	r.Figures[Longest] = r.Figures[latency.Max] / 1_000
	return r, nil
}

func (p *process) end(how string) error {
	switch how {
	case Deployment:
		return p.stop()
	case Crash:
		return p.kill()
	}
	return fmt.Errorf("no end of a relay is called %q", how)
}
