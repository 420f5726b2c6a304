package dashboard

import (
	"context"
	"time"
)

// SetClock replaces the clock of a dashboard.
func SetClock(d *Dashboard, now func() time.Time) { d.now = now }

// Style is the style sheet.
func Style() string {
	text, err := files.ReadFile("assets/style.css")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Look takes a sample now, as the overview does.
func (d *Dashboard) Look(ctx context.Context) { d.sampler.read(ctx) }
