package customstore_test

import (
	"testing"

	customstore "github.com/postroom/postroom/examples/custom-store"
	"github.com/postroom/postroom/outbox/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Store { return customstore.New(customstore.NewMemory(), 16) })
}
