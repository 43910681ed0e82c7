package api

import (
	"encoding/json"
	"strings"
	"testing"

	"umg/app"
	"umg/app/gateway"
	"umg/app/meter"
	"umg/billing"
)

func TestAQuoteListsTheFeesOfTools(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(textQuote{Tools: quotedFees([]gateway.QuoteFee{
		{Meter: meter.WebSearches, Price: billing.Rate{Meter: meter.WebSearches, Amount: 10 * app.Dollar, Per: 1000}, Count: 5, Most: app.Dollar / 20},
		{Meter: meter.WebFetches, Price: billing.Rate{Meter: meter.WebFetches, Per: 1}, Count: 3},
	})})
	if err != nil {
		t.Fatal(err)
	}
	var quote struct{ Tools json.RawMessage }
	if err := json.Unmarshal(got, &quote); err != nil {
		t.Fatal(err)
	}
	const want = `[{"meter":"web_searches","price":0.01,"per":1,"max":5,"cost_max":0.05},{"meter":"web_fetches","price":0,"per":1,"max":3,"cost_max":0}]`
	if string(quote.Tools) != want {
		t.Errorf("got %s, want %s", quote.Tools, want)
	}
	if got, err := json.Marshal(textQuote{}); err != nil || strings.Contains(string(got), "tools") {
		t.Errorf("a quote without tools: %s, %v", got, err)
	}
}
