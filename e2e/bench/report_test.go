//go:build bench

package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// resultsDir has a file for each day on which the benchmarks ran whole.
const resultsDir = "results"

// samples are the values of one figure, one from each round.
type samples []float64

func (s samples) median() float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// String has the median and the range.
func (s samples) String() string {
	if len(s) == 0 {
		return ""
	}
	m := s.median()
	if len(s) == 1 {
		return number(m)
	}
	return fmt.Sprintf("%s (%s–%s)", number(m), number(slices.Min(s)), number(slices.Max(s)))
}

// number has about three digits.
func number(v float64) string {
	switch {
	case v >= 100 || v <= -100 || v == float64(int64(v)):
		return fmt.Sprintf("%.0f", v)
	case v >= 10 || v <= -10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// bar is what a figure must not exceed, and what is aimed at. It is zero for a figure that is only printed.
type bar struct{ must, aim float64 }

// report collects the tables and judges the figures.
type report struct {
	text        bytes.Buffer
	met, missed []string
}

func (r *report) printf(format string, args ...any) {
	fmt.Printf(format, args...)
	fmt.Fprintf(&r.text, format, args...)
}

// table begins a table.
func (r *report) table(title string, columns ...string) {
	r.printf("\n## %s\n\n", title)
	r.row(columns...)
	r.row(slices.Repeat([]string{"---"}, len(columns))...)
}

func (r *report) row(cells ...string) { r.printf("| %s |\n", strings.Join(cells, " | ")) }

// judge compares the median of a figure with its bar, and returns the cells of the bar.
func (r *report) judge(name string, s samples, b bar) []string {
	if b.must == 0 || len(s) == 0 {
		return []string{"", "", ""}
	}
	verdict := "missed"
	switch m := s.median(); {
	case m <= b.aim:
		verdict = "met, and the aim"
	case m <= b.must:
		verdict = "met"
	}
	line := fmt.Sprintf("%s: %s, must %s", name, s, number(b.must))
	if verdict == "missed" {
		r.missed = append(r.missed, line)
	} else {
		r.met = append(r.met, line)
	}
	return []string{number(b.must), number(b.aim), verdict}
}

// head says what was measured, and where.
func (r *report) head(t *testing.T, p plan) {
	t.Helper()
	version, _ := exec.Command("git", "describe", "--always", "--dirty").Output()
	r.printf("# Benchmarks of %s\n\nVersion %s, %s, %d CPUs, load average %s. %d rounds; a figure is the median of the rounds, with its range in "+
		"parentheses.\nCPU is that of the process for each answer. `×` is the ratio to refproxy, Go's httputil.ReverseProxy, in the same round.\n"+
		"Foreign is what processes use that the benchmark did not start, in percent of one CPU.\n", time.Now().UTC().Format(time.DateOnly),
		strings.TrimSpace(string(version)), runtime.Version(), runtime.NumCPU(), loadAverage(t), p.rounds)
}

// finish prints the verdicts, and writes the file of the day after a whole run.
func (r *report) finish(t *testing.T, write bool) {
	t.Helper()
	r.printf("\n## Bars\n\n%d met, %d missed. Load average at the end: %s.\n", len(r.met), len(r.missed), loadAverage(t))
	for _, line := range r.missed {
		r.printf("- missed: %s\n", line)
	}
	if !write {
		return
	}
	file := filepath.Join(resultsDir, time.Now().UTC().Format(time.DateOnly)+".md")
	if err := os.MkdirAll(resultsDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, r.text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\nwritten to e2e/bench/%s\n", file)
}
