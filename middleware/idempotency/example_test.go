package idempotency_test

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/postroom/postroom/middleware/idempotency"
)

// The header is a string in quotes by its specification, and often sent without them.
func ExampleParseHeader() {
	for _, header := range []string{`"8e03978e-40d5"`, `8e03978e-40d5`, `"un\nclosed`} {
		key, err := idempotency.ParseHeader([]string{header})
		fmt.Println(key, err != nil)
	}
	// Output:
	// 8e03978e-40d5 false
	// 8e03978e-40d5 false
	//  true
}

// The ids of a request's messages follow from its key and its content, so a request that runs again makes no new ones.
func ExampleKey_MessageIDs() {
	key := idempotency.Key{Principal: "account-1", Method: "POST", Route: "/orders", Value: "8e03978e-40d5"}
	var request idempotency.Fingerprint // of path, query and body

	ids := func() (list []uuid.UUID) {
		next := key.MessageIDs(request)
		return append(list, next(), next())
	}
	first, again := ids(), ids()
	fmt.Println(first[0] == again[0], first[1] == again[1], first[0] == first[1])
	// Output: true true false
}
