//go:build unix

package trial

import (
	"context"
	"errors"
	"os"

	"github.com/postroom/postroom/chaos/internal/fleet"
)

// Programs are paths of what trials run as processes.
type Programs struct {
	Relay string
	Shop  string
}

// Build compiles the programs. What it returns removes them.
func Build(ctx context.Context) (p Programs, remove func(), err error) {
	folder, err := os.MkdirTemp("", "postroom-chaos-")
	if err != nil {
		return p, nil, err
	}
	remove = func() { _ = os.RemoveAll(folder) }
	root, err := fleet.ModuleDir(ctx, "github.com/postroom/postroom")
	if err != nil {
		remove()
		return p, nil, err
	}
	var relay, shop error
	p.Relay, relay = fleet.Build(ctx, folder, "", "github.com/postroom/postroom/chaos/relay")
	p.Shop, shop = fleet.Build(ctx, folder, root, "./examples/orders-api")
	if err := errors.Join(relay, shop); err != nil {
		remove()
		return p, nil, err
	}
	return p, remove, nil
}
