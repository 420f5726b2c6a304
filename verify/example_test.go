package verify_test

import (
	"fmt"
	"strings"

	"github.com/postroom/postroom/verify"
)

// Two messages of a key were committed; the second arrived, and the first did not.
func ExampleCheck() {
	journal := strings.NewReader(`
{"kind":"committed","id":"0190b5a7-8c5e-7d1e-9d62-4d1b6f5f2a10","topic":"orders","key":"c-1","order":1,"at":"2026-03-01T10:00:00Z"}
{"kind":"committed","id":"0190b5a7-8c5e-7d1e-9d62-4d1b6f5f2a11","topic":"orders","key":"c-1","order":2,"at":"2026-03-01T10:00:01Z"}
`)
	arrivals := strings.NewReader(`
{"kind":"delivered","id":"0190b5a7-8c5e-7d1e-9d62-4d1b6f5f2a11","topic":"orders","stream":"orders/0","offset":0,"at":"2026-03-01T10:00:02Z"}
`)
	report, err := verify.Check(verify.Config{}, journal, arrivals)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("well:", report.OK())
	fmt.Println("lost:", report.Lost.Total, report.Lost.Witnesses[0].ID)
	// Output:
	// well: false
	// lost: 1 0190b5a7-8c5e-7d1e-9d62-4d1b6f5f2a10
}
