package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// part runs until its context ends; then it bounds its own ending.
type part struct {
	name string
	run  func(ctx context.Context) error
}

// runParts runs parts side by side until ctx ends or one of them does, and then stops one after another, the last
// first: requests end before the consumer does, and the relay publishes to the last.
func runParts(ctx context.Context, parts ...part) error {
	var stops []func() error
	ended := make(chan string, len(parts))
	for _, p := range parts {
		stops = append(stops, start(ctx, p, ended))
	}
	var errs []error
	select {
	case <-ctx.Done():
	case name := <-ended:
		errs = append(errs, fmt.Errorf("%s ended by itself", name))
	}
	for _, stop := range slices.Backward(stops) {
		errs = append(errs, stop())
	}
	return errors.Join(errs...)
}

// start runs p under a context of its own and returns what ends that, waits, and returns the error of p.
func start(ctx context.Context, p part, ended chan<- string) (stop func() error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	result := make(chan error, 1)
	go func() {
		err := p.run(ctx)
		if err != nil {
			err = fmt.Errorf("%s: %w", p.name, err)
		}
		result <- err
		ended <- p.name
	}()
	return func() error {
		cancel()
		return <-result
	}
}
