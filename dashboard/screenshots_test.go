package dashboard_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/postroom/postroom/dashboard"
	"github.com/postroom/postroom/outbox"
)

var screenshots = flag.Bool("screenshots", false, "take the pictures of docs/images anew, as make screenshots does")

// serveStory serves the demo with an hour of history: payments went wrong 42 minutes ago.
func serveStory(t testing.TB) string {
	t.Helper()
	store, relay, now := newDemo(), newDemoRelay(), demoTime
	d := newDashboard(t, store, func(c *dashboard.Config) {
		c.Title, c.Relays = "checkout", []dashboard.Relay{relay}
	})
	dashboard.SetClock(d, func() time.Time { return now })
	whole, end := store.backlog, relay.snapshot.Delivered
	for ago := time.Hour; ago > 0; ago -= 20 * time.Second {
		now = demoTime.Add(-ago)
		x := ago.Seconds() / 60
		relay.snapshot.Delivered = end - uint64(ago.Seconds()*340) - uint64(20000+int64(2600*math.Sin(x/3)))
		waves := 190*math.Sin(x*0.31) + 70*math.Sin(x*0.83) + 40*math.Cos(x*1.7)
		store.backlog = outbox.Backlog{Counts: []outbox.BacklogCount{{
			Topic: "orders", Status: outbox.StatusPending, Messages: 620 + int(waves),
			Oldest: time.Duration(3+math.Sin(x*0.9)+46*math.Exp(-(x-40)*(x-40)/3)+max(0, 95-ago.Seconds())) * time.Second,
		}}}
		store.broken = nil
		if x > 21 && x < 24 {
			store.broken = errBroken
		}
		d.Look(t.Context())
	}
	store.broken = nil
	now, store.backlog, relay.snapshot.Delivered = demoTime, whole, end-20000
	return serve(t, d)
}

func TestScreenshots(t *testing.T) {
	t.Parallel()
	t.Run("show_every_page_as_it_is", func(t *testing.T) {
		t.Parallel()
		site := serveStory(t)
		for name, path := range map[string]string{
			"overview": "/", "messages": "/messages", "failures": "/failures", "held": "/held", "relays": "/relays",
			"pauses": "/pauses", "audit": "/audit", "act": "/act?deed=requeue&status=parked&topic=payments",
			"message": "/messages/" + newDemo().records[5].ID.String(),
		} {
			checkPicture(t, site+path, "dashboard-"+name, "light", 1280)
		}
		checkPicture(t, site+"/", "dashboard-overview-dark", "dark", 1280)
		checkPicture(t, site+"/", "dashboard-phone", "dark", 390)
	})
}

// checkPicture takes a picture anew if that is asked for. Otherwise there has to be one of that width: fonts differ
// between machines, and with them all else.
func checkPicture(t *testing.T, url, name, scheme string, width int64) {
	t.Helper()
	path := filepath.Join("..", "docs", "images", name+".png")
	if *screenshots {
		take(t, url, path, scheme, width)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatalf("%v: make screenshots", err)
	}
	defer file.Close()
	picture, err := png.DecodeConfig(file)
	if err != nil || int64(picture.Width) != width {
		t.Errorf("%s: %d wide, %v; want %d", name, picture.Width, err, width)
	}
}

// take writes a picture of a page, up to a height that a document can show.
func take(t *testing.T, url, path, scheme string, width int64) {
	t.Helper()
	b := openTab(t, "")
	b.prefer(scheme)
	b.do(chromedp.EmulateViewport(width, 400), chromedp.Navigate(url))
	height := get(b, chromedp.Evaluate[int64]("document.documentElement.scrollHeight"))
	b.do(chromedp.EmulateViewport(width, min(max(height, 560), 2*max(width, 900))))
	picture := get(b, chromedp.CaptureScreenshot())
	b.wantCalm()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, shrink(t, picture), 0o644); err != nil {
		t.Fatal(err)
	}
}

// shrink keeps the 256 colours that a picture has most of, and makes the others the nearest of these.
func shrink(t *testing.T, picture []byte) []byte {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[color.Color]int{}
	bounds := full.Bounds()
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			counts[full.At(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	small := image.NewPaletted(bounds, colors[:min(len(colors), 256)])
	draw.Draw(small, bounds, full, image.Point{}, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
