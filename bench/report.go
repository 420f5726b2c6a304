package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/postroom/postroom/bench/internal/report"
	"github.com/postroom/postroom/bench/internal/results"
)

// latestResults are those of the last full run.
const latestResults = "latest.json"

// writeReport writes what is made of the latest results: the table of medians beside them, and the page with its
// pictures into the folder of the documentation.
func writeReport(o options) error {
	files, err := reportFiles(o)
	if err != nil {
		return err
	}
	for path, text := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	return nil
}

// reportFiles returns them by their paths.
func reportFiles(o options) (map[string][]byte, error) {
	f, err := results.Open(filepath.Join(o.dir, latestResults))
	if err != nil {
		return nil, err
	}
	if len(f.Samples) == 0 {
		return nil, fmt.Errorf("report: there are no results in %s: run `make bench` first", o.dir)
	}
	var table bytes.Buffer
	if err := report.CSV(&table, f.Summaries); err != nil {
		return nil, err
	}
	page, err := report.Page(f, fullComparisons(o))
	if err != nil {
		return nil, err
	}
	pictures, err := report.Plots(f, fullComparisons(o))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{
		filepath.Join(o.dir, "latest.csv"):      table.Bytes(),
		filepath.Join(o.docs, "performance.md"): []byte(page),
	}
	for name, picture := range pictures {
		files[filepath.Join(o.docs, "images", name)] = picture
	}
	return files, nil
}
