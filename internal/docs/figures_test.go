package docs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// figure matches a measured ratio that a page quotes: <!-- ratio: kafka_vs_river -->4.1<!-- /ratio -->.
var figure = regexp.MustCompile(`<!-- ratio: (\w+) -->([^<]*)<!-- /ratio -->`)

// TestFigures holds the ratios that pages quote against the last measurement, bench/results/latest.json.
func TestFigures(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join(root, "bench", "results", "latest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var results struct{ Ratios map[string]float64 }
	if err := json.Unmarshal(raw, &results); err != nil {
		t.Fatalf("read the results of bench: %v", err)
	}
	for page, text := range readMarkdown(t) {
		fresh := figure.ReplaceAllStringFunc(text, func(quoted string) string {
			m := figure.FindStringSubmatch(quoted)
			ratio, measured := results.Ratios[m[1]]
			if !measured {
				t.Errorf("%s quotes %s, which bench has not measured", page, m[1])
			}
			want := rounded(ratio)
			if m[2] != want && !*update {
				t.Errorf("%s says %s of %s, measured was %s; run: go test ./internal/docs -update", page, m[2], m[1], want)
			}
			return fmt.Sprintf("<!-- ratio: %s -->%s<!-- /ratio -->", m[1], want)
		})
		if *update && fresh != text {
			if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(page)), []byte(fresh), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// rounded shows no more digits than a repetition would confirm.
func rounded(ratio float64) string {
	if ratio >= 10 {
		return fmt.Sprintf("%.0f", ratio)
	}
	return fmt.Sprintf("%.1f", ratio)
}
