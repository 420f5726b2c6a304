package dashboard_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// deadline bounds everything that a test does in a browser.
const deadline = 3 * time.Minute

// browser is one Chromium for all tests of the package; each test has a profile of its own in it.
var browser = struct {
	once sync.Once
	ctx  context.Context
	stop []context.CancelFunc
	err  error
}{}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, stop := range browser.stop {
		stop()
	}
	os.Exit(code)
}

// startBrowser finds Chromium by the variable CHROMIUM, or by its usual names. It runs without a sandbox, since tests
// may run as root, and sees nothing but pages of the tests.
func startBrowser() {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1280, 800))
	if path := os.Getenv("CHROMIUM"); path != "" {
		options = append(options, chromedp.ExecPath(path))
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	browser.stop = []context.CancelFunc{end, stop}
	browser.ctx, browser.err = ctx, chromedp.Do(ctx)
}

// tab is a tab of a browser with a profile of its own.
type tab struct {
	testing.TB
	ctx  context.Context
	site string

	mu     sync.Mutex
	faults []string // what a page of ours never does: errors, refused content, dialogs
}

func openTab(t testing.TB, site string) *tab {
	t.Helper()
	browser.once.Do(startBrowser)
	if browser.err != nil {
		t.Fatalf("start Chromium: %v: install the package chromium, or set CHROMIUM to the program", browser.err)
	}
	ctx, end := chromedp.NewContext(browser.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	b := &tab{TB: t, ctx: ctx, site: site}
	b.do() // opens it, before there is a deadline that would end all of it
	ctx, cancel := context.WithTimeout(ctx, deadline)
	t.Cleanup(cancel)
	b.ctx = ctx
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	_, logErr := chromedp.Call(ctx, log.Enable, cdp.Empty{})
	_, runErr := chromedp.Call(ctx, runtime.Enable, cdp.Empty{})
	_, pageErr := chromedp.Call(ctx, page.Enable, page.EnableParams{})
	if err := errors.Join(logErr, runErr, pageErr); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *tab) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.fault("exception: " + e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork { // such as status 403
			b.fault("console: " + e.Entry.Text)
		}
	case *page.EventJavascriptDialogOpening:
		b.fault("dialog: " + e.Message)
	}
}

func (b *tab) fault(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, text)
}

// wantCalm fails when a page did what ours never does.
func (b *tab) wantCalm() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.faults {
		b.Errorf("the page did what it must not: %s", f)
	}
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// get runs an action for its value.
func get[T any](b *tab, action chromedp.Action[T]) T {
	b.Helper()
	value, err := chromedp.Run(b.ctx, action)
	if err != nil {
		b.Fatal(err)
	}
	return value
}

// open loads a page and returns the text that it shows.
func (b *tab) open(path string) string {
	b.Helper()
	answer := get(b, chromedp.NavigateResponse(b.site+path))
	if answer.Status != http.StatusOK {
		b.Fatalf("%s answered %d", path, answer.Status)
	}
	return b.text("body")
}

func (b *tab) text(selector string) string {
	b.Helper()
	return get(b, chromedp.Text(chromedp.CSS(selector)))
}

// click clicks what leads to another page, and waits for that.
func (b *tab) click(selector string) {
	b.Helper()
	answer, err := chromedp.RunResponse(b.ctx, chromedp.Click(chromedp.CSS(selector)))
	if err != nil {
		b.Fatalf("click %s: %v", selector, err)
	}
	if answer.Status != http.StatusOK {
		b.Fatalf("click %s: status %d", selector, answer.Status)
	}
}

func (b *tab) fill(selector, text string) {
	b.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS(selector), text))
}
