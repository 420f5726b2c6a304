package memstore_test

import (
	"testing"

	"github.com/postroom/postroom/outbox/memstore"
	"github.com/postroom/postroom/outbox/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Store { return memstore.New(memstore.Config{}) })
}
