package gormstore_test

import (
	"testing"

	"gorm.io/gorm"

	"github.com/postroom/postroom/gormstore"
	"github.com/postroom/postroom/outbox/storetest"
)

// TestStore runs what every store must do.
func TestStore(t *testing.T) {
	for name, open := range databases {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Store {
				s := conformant{newFixture(t, open(t, gorm.Config{}), 0, gormstore.Config{}).store, name == "sqlite"}
				return s
			})
		})
	}
}

// conformant says what the kit cannot see.
type conformant struct {
	*gormstore.Store
	single bool
}

// SingleWriter reports whether a second write transaction has to wait for the first.
func (c conformant) SingleWriter() bool { return c.single }
