package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"umg/app/ratelimit"
)

// TestTheDocumentsTellTheUsualRates compares the account limits in the documents with those of a server without
// flags.
func TestTheDocumentsTellTheUsualRates(t *testing.T) {
	t.Parallel()
	var line commands
	k, err := kong.New(&line, kong.Vars{"default_data": t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Parse([]string{"serve"}); err != nil {
		t.Fatal(err)
	}
	f := line.Serve.limitFlags
	rates := f.rates()
	minute := func(n int64, r ratelimit.Rate) int64 {
		if r.Period == 0 {
			return n
		}
		return n * int64(time.Minute/r.Period)
	}
	text := func(n int64) string {
		if n >= 1000 {
			return fmt.Sprintf("%d,%03d", n/1000, n%1000)
		}
		return fmt.Sprint(n)
	}
	requests := func(r ratelimit.Rate) string {
		return "| " + text(minute(r.Requests, r)) + " | " + text(r.Requests) + " |"
	}
	bytes := func(r ratelimit.Rate) string {
		return fmt.Sprintf("| %d MiB | %d MiB |", minute(r.Bytes, r)>>20, r.Bytes>>20)
	}
	for file, wants := range map[string][]string{
		"../../app/docs/pages/limits.md": {
			"| calls, with those that fail " + requests(rates.Calls), "| bodies of calls " + bytes(rates.Calls),
			"| dry runs (`X-Dry-Run`) and token counts " + requests(rates.Checks), "| bodies of dry runs and token counts " + bytes(rates.Checks),
			"| GET requests, such as the status of a video " + requests(rates.Reads),
			"| other requests, such as changes of keys and webhooks " + requests(rates.Changes),
		},
		"../../app/docs/operator/replicas.md": {
			fmt.Sprintf("%s calls, %s GET requests, %s changes and %s dry runs a minute for an account",
				text(f.AccountRequestsPerMinute), text(f.AccountReadsPerMinute), text(f.AccountChangesPerMinute), text(f.AccountDryRunsPerMinute)),
			fmt.Sprintf("get %d pages and %d forms", f.IPPagesPerMinute, f.IPFormsPerMinute),
		},
	} {
		document, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(strings.Join(strings.Fields(string(document)), " "), want) {
				t.Errorf("%s does not say %q", file, want)
			}
		}
	}
}
