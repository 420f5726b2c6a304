package health_test

import (
	"context"
	"fmt"
	"net/http"

	"github.com/postroom/postroom/outbox"
	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/telemetry/health"
)

func Example() {
	store := memstore.New(memstore.Config{})
	checks := health.New(health.Config{Store: store}) // and the relays of this process, if it has some

	mux := http.NewServeMux()
	mux.Handle("/livez", checks.Live())
	mux.Handle("/readyz", checks.Ready())

	report := checks.Check(context.Background())
	fmt.Println(report.Ready, report.Backlog.Messages[outbox.StatusPending])
	// Output: true 0
}
