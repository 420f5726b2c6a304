package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
)

const baselinePath = "internal/benchcheck/baseline.json"

//go:embed baseline.json
var baselineText []byte

// errSlower: the table above it says which.
var errSlower = errors.New("slower than the baseline")

func main() {
	update := flag.Bool("update", false, "measure the baseline anew")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := check(ctx, *update)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchcheck:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context, update bool) error {
	suite, err := build(ctx)
	if err != nil {
		return err
	}
	defer suite.remove()
	if update {
		return renew(ctx, suite)
	}
	var baseline map[string]Measure
	if err := json.Unmarshal(baselineText, &baseline); err != nil {
		return fmt.Errorf("read the baseline: %w", err)
	}
	var slower []finding
	for range 2 { // twice, since a machine may be disturbed
		now, err := suite.measure(ctx)
		if err != nil {
			return err
		}
		slower = compare(os.Stdout, baseline, now)
		if len(slower) == 0 {
			return nil
		}
	}
	return fmt.Errorf("%w: %v", errSlower, slower)
}

func renew(ctx context.Context, suite *suite) error {
	now, err := suite.measure(ctx)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(baselinePath, append(text, '\n'), 0o644)
}
