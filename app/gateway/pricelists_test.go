package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/big"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
	"umg/billing"
)

// pricedAnswer is a row of the usage objects that real providers sent, with their price by the provider's list. The data are in
// app/usagereader/testdata/prices.
type pricedAnswer struct {
	ID          int
	Provider    string
	Style       llm.Style
	Usage       json.RawMessage
	Request     struct{ TextBytes, Images, Documents int64 }
	AnswerBytes int64 `json:"answer_bytes"`
	Counted     struct {
		InputTokens  int64 `json:"input_tokens"`
		OutputTokens int64 `json:"output_tokens"`
	}
	Price     *struct{ Input, Output, Total json.Number }
	Corrected *struct {
		Total json.Number
		Why   string
	}
	Disputed string
	Card     *struct{ Prices map[string]json.RawMessage }
}

// listMeters has the names of the meters of the prices in the data, and the quantity that each is for.
var listMeters = map[string]string{
	"input_mtok": "input_tokens", "output_mtok": "output_tokens", "cache_read_mtok": "cache_read_tokens", "cache_write_mtok": "cache_write_tokens",
	"cache_write_1h_mtok": "cache_write_1h_tokens", "input_audio_mtok": "input_audio_tokens", "cache_audio_read_mtok": "cache_read_audio_tokens",
	"output_image_mtok": "output_image_tokens", "web_searches_kcount": "web_searches",
}

// listReaders has the readers of usage of providers that the data name otherwise.
var listReaders = map[string]string{
	"google": "gemini", "aws": "bedrock", "huggingface_nebius": "huggingface", "huggingface_together": "huggingface",
}

// pricedAnswers reads the rows that have an undisputed price in the styles of the API.
func pricedAnswers(t *testing.T) (rows []pricedAnswer) {
	t.Helper()
	text, err := os.ReadFile("../usagereader/testdata/prices/answers.json")
	must(t, err)
	var all []pricedAnswer
	must(t, json.Unmarshal(text, &all))
	for _, a := range all {
		if slices.Contains(llm.Styles(), a.Style) && a.Price != nil && a.Disputed == "" {
			rows = append(rows, a)
		}
	}
	return rows
}

// dollars is the price of the row.
func (a *pricedAnswer) dollars(t *testing.T) *big.Rat {
	t.Helper()
	sum := new(big.Rat)
	terms := []json.Number{a.Price.Input, a.Price.Output}
	if a.Price.Total != "" {
		terms = []json.Number{a.Price.Total}
	}
	if a.Corrected != nil {
		terms = []json.Number{a.Corrected.Total}
	}
	for _, term := range terms {
		n, ok := new(big.Rat).SetString(string(term))
		if !ok {
			t.Fatalf("row %d: %q is not a number", a.ID, term)
		}
		sum.Add(sum, n)
	}
	return sum
}

// prices writes the price list of the row as members of a model in the catalog file.
func (a *pricedAnswer) prices(t *testing.T) string {
	t.Helper()
	rates, tiers := []string{}, map[int64][]string{}
	for _, name := range slices.Sorted(maps.Keys(a.Card.Prices)) {
		quantity := "1M"
		if strings.HasSuffix(name, "_kcount") {
			quantity = "1K"
		}
		rate := func(n json.Number) string {
			r, ok := new(big.Rat).SetString(string(n))
			if !ok || listMeters[name] == "" {
				t.Fatalf("row %d: %s of %s", a.ID, n, name)
			}
			return fmt.Sprintf("%s: %s per %s", listMeters[name], strings.TrimRight(strings.TrimRight(r.FloatString(9), "0"), "."), quantity)
		}
		raw := a.Card.Prices[name]
		if raw[0] != '{' {
			rates = append(rates, rate(json.Number(raw)))
			continue
		}
		var tiered struct {
			Base  json.Number
			Tiers []struct {
				Start int64
				Price json.Number
			}
		}
		must(t, json.Unmarshal(raw, &tiered))
		rates = append(rates, rate(tiered.Base))
		for _, tier := range tiered.Tiers {
			tiers[tier.Start] = append(tiers[tier.Start], rate(tier.Price))
		}
	}
	if len(rates) == 0 { // The model is free.
		rates = []string{"input_tokens: 0 per 1M", "output_tokens: 0 per 1M"}
	}
	conditions := []string{}
	for _, start := range slices.Sorted(maps.Keys(tiers)) {
		conditions = append(conditions, fmt.Sprintf("{prompt_over: %d, rates: {%s}}", start, strings.Join(tiers[start], ", ")))
	}
	return fmt.Sprintf("rates: {%s}, conditions: [%s]", strings.Join(rates, ", "), strings.Join(conditions, ", "))
}

// neverSent has the rows whose requests had a tool of the provider that no price list of the model prices. The gateway never sends such
// tools, as TestPricedExtrasAreServedAndCharged and TestNoExtraGoesUpstream show.
var neverSent = map[int]string{
	176: "a server tool of OpenRouter", 204: "the advisor tool, whose model has a price of its own", 250: "the advisor tool, whose model has a price of its own",
}

const pricedModel = `  - {id: %s, name: Test, owner: test, kind: text, capabilities: [text], input: [text, image, audio, video, file], output: [text, image, audio],
     context_tokens: 2000000, max_output_tokens: 128000, on_cut: error, parameters: [temperature], %s,
     limits: {requests_per_minute: 100000000, tokens_per_minute: 100000000000}, released: 2026-01-01,
     routes: [{provider: %s, model: upstream-model, style: %s}]}
`

// setupPriced is a bench with a model for each price list, and the model of each row.
func setupPriced(t *testing.T, rows []pricedAnswer) (*replayBench, map[int]string) {
	t.Helper()
	providers, models, lists, modelOf := map[string]string{}, strings.Builder{}, map[string]string{}, map[int]string{}
	for i := range rows {
		a := &rows[i]
		reader := a.Provider
		if other, ok := listReaders[reader]; ok {
			reader = other
		}
		provider := strings.ReplaceAll(a.Provider, "_", "-")
		providers[provider] = fmt.Sprintf("  - {id: %s, name: %s, usage: %s, base_url: \"${SIM}/%s\", credential: \"${SECRET}\"}\n",
			provider, provider, reader, provider)
		list := provider + string(a.Style) + a.prices(t)
		if lists[list] == "" {
			lists[list] = fmt.Sprintf("test/list-%d", len(lists)+1)
			fmt.Fprintf(&models, pricedModel, lists[list], a.prices(t), provider, a.Style)
		}
		modelOf[a.ID] = lists[list]
	}
	file := "providers:\n" + strings.Join(slices.Sorted(maps.Values(providers)), "") + "models:\n" + models.String()
	f, err := catalog.ParseFile([]byte(file))
	must(t, err)
	b := &replayBench{bench: setup(t, 0)}
	snapshot, err := catalog.NewSnapshot(f, catalog.Options{Now: time.Now, Secrets: b.lookup, Log: slog.New(slog.DiscardHandler), Traits: dialect.Traits, Extras: extraRows})
	must(t, err)
	b.options.Snapshot = func() *catalog.Snapshot { return snapshot }
	b.account = b.ids.New("acc")
	must(t, b.ledger.OpenAccount(t.Context(), b.db, b.account))
	must(t, b.ledger.Grant(t.Context(), b.db, billing.Grant{AccountID: b.account, Kind: billing.Purchased, Amount: recordedCredit, Source: "test:" + b.account}))
	return b, modelOf
}

// body is a whole answer with the usage of the row, and as much text as the recorded answer had.
func (a *pricedAnswer) body() string {
	text := strings.Repeat("a", int(max(a.AnswerBytes, 2)))
	switch a.Style {
	case llm.Chat:
		return fmt.Sprintf(`{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":%s}`, text, a.Usage)
	case llm.Messages:
		return fmt.Sprintf(`{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":%q}],"stop_reason":"end_turn","stop_sequence":null,"usage":%s}`, text, a.Usage)
	case llm.Responses:
		return fmt.Sprintf(`{"id":"r","object":"response","created_at":1,"status":"completed","model":"m","output":[{"type":"message","id":"t","role":"assistant","status":"completed","content":[{"type":"output_text","text":%q,"annotations":[]}]}],"usage":%s}`, text, a.Usage)
	default:
		return fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[{"text":%q}]},"finishReason":"STOP","index":0}],"usageMetadata":%s,"modelVersion":"m"}`, text, a.Usage)
	}
}

// TestCallsCostWhatPriceListsSay sends a call for each row of real usage through the whole pipeline, once with no bound on the output and
// once with exactly the output that the answer used. Each is charged the price of the list, rounded up to a nano-dollar.
func TestCallsCostWhatPriceListsSay(t *testing.T) {
	t.Parallel()
	rows := pricedAnswers(t)
	b, modelOf := setupPriced(t, rows)
	for _, exactly := range []bool{false, true} {
		exact, estimated, refused := 0, 0, []string{}
		for i := range rows {
			a := &rows[i]
			if why, never := neverSent[a.ID]; never {
				refused = append(refused, fmt.Sprintf("row %d: %s", a.ID, why))
				continue
			}
			ask := asked{prompt: strings.Repeat("word ", int(max(a.Request.TextBytes, 5)/5))}
			// Media are a few bytes of a request and many tokens. Text in their place keeps the counts plausible.
			if a.Request.Images+a.Request.Documents > 0 || a.Request.TextBytes == 0 {
				ask.prompt = strings.Repeat("word ", int(max(a.Counted.InputTokens, 1)))
			}
			if exactly {
				ask.bound = a.Counted.OutputTokens
				if a.Style == llm.Responses { // The style has no lower bound than this.
					ask.bound = max(ask.bound, dialect.ResponseLeast)
				}
			}
			call := b.styledCall(a.Style, modelOf[a.ID], ask)
			answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, a.body())
			})
			got := b.replay(answer, a.Style, call.Body)
			if got.Estimated {
				estimated++
			}
			price := new(big.Rat).Mul(a.dollars(t), big.NewRat(int64(app.Dollar), 1))
			over := new(big.Rat).Sub(big.NewRat(int64(got.Cost), 1), price)
			if over.Sign() < 0 || over.Cmp(big.NewRat(1, 1)) >= 0 {
				t.Errorf("row %d (%s, %s, exact bound %t): %s, not $%s (%s); usage %s", a.ID, a.Provider, a.Style, exactly, got.Cost,
					a.dollars(t).FloatString(9), ending(got), a.Usage)
				continue
			}
			exact++
		}
		t.Logf("of %d rows with an undisputed price, output bounded to what was used %t: %d charged exactly, %d estimated, %d refused before sending (%s)",
			len(rows), exactly, exact, estimated, len(refused), strings.Join(refused, "; "))
		if exact+len(refused) != len(rows) || estimated > 0 || len(refused) != len(neverSent) {
			t.Errorf("%d of %d rows are exact", exact, len(rows))
		}
	}
}
