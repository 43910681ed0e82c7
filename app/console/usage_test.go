package console_test

import (
	"crypto/rand"
	"encoding/csv"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/meter"
	"umg/billing"
)

// call takes credit as a call with this record would, and gives the call's id.
func (h *paymentConsole) call(account string, cost app.Amount, r billing.UsageRecord) string {
	h.t.Helper()
	r.RequestID = app.IDs{Now: time.Now, Random: rand.Reader}.New("req")
	if r.Reason == "" {
		r.Outcome, r.Reason = "succeeded", string(billing.ReasonCompleted)
	}
	if r.StartedAt.IsZero() {
		r.StartedAt = time.Now()
	}
	hold, err := h.ledger.HoldFor(h.t.Context(), h.db, billing.HoldRequest{ID: r.RequestID, AccountID: account, Want: cost + 1000}, time.Hour)
	if err == nil {
		err = h.ledger.SettleIn(h.t.Context(), h.db, hold, billing.Settlement{Cost: cost, Record: r})
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return r.RequestID
}

func TestUsageAddsUpToTheChargesInEveryView(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	p := h.signedIn("usage@example.com")
	account := h.accountOf("usage@example.com")
	has(t, "before", p.see("/console/usage"), 200, "Nothing was used in this range")
	h.call(account, 1_204_918_751, billing.UsageRecord{Model: "aurora-large", Style: "chat", EndUser: "=cmd()", Usage: meter.Counts{1000, 24, 0, 388}})
	h.call(account, 43, billing.UsageRecord{Model: "aurora-large", Style: "messages"})
	h.call(account, 2_000_000_000, billing.UsageRecord{Model: "reel", Style: "videos", Usage: meter.Counts{meter.Seconds: 8000}})
	total, exact := `$3.20<span class="money-fine">4918794</span>`, "Sums exactly to the charges of these hours"
	for by, name := range map[string]string{
		"model": "aurora-large", "key": "Playground", "style": "Chat completions", "reason": "completed", "end_user": "=cmd()", "modality": "Video",
	} {
		has(t, by, p.see("/console/usage?range=24h&compare=on&by="+by), 200, name, total, exact, "Previous period")
	}
	for _, span := range []string{"7d", "30d", "month", "custom&from=" + time.Now().UTC().Format(time.DateOnly) + "&to=" + time.Now().UTC().Format(time.DateOnly)} {
		has(t, span, p.see("/console/usage?range="+span), 200, total, exact)
	}
	has(t, "a zone", p.see("/console/usage?range=24h&tz=Asia%2FKolkata&metric=seconds"), 200, "Asia/Kolkata", "8 s", total)
	has(t, "a model", p.see("/console/usage?model=aurora-large&by=style"), 200, `$1.20<span class="money-fine">4918794</span>`, exact, "Remove the filters")
	has(t, "nothing", p.see("/console/usage?model=none"), 200, "No usage matches")
	for _, metric := range []string{"limited", "p50", "p95", "ttft", "ttft95"} {
		has(t, metric, p.see("/console/usage?by=tag&metric="+metric), 200, total, "No tag")
	}
	quarter := time.Now().UTC().Truncate(15 * time.Minute)
	minutes := "from=" + quarter.Add(-45*time.Minute).Format("2006-01-02T15:04") + "&to=" + quarter.Add(15*time.Minute).Format("2006-01-02T15:04")
	has(t, "minutes", p.see("/console/usage?range=custom&"+minutes), 200, "Spend by minute", total, exact)
	has(t, "nonsense", p.see("/console/usage?range=x&by=x&metric=x&tz=Local&modality=x"), 200, total)
	for text, query := range map[string]string{
		"The first day is after the last": "from=2026-02-02&to=2026-02-01", "Choose the first and the last day": "from=now", "at most 366 days": "from=2020-01-01&to=2026-01-01",
	} {
		has(t, text, p.see("/console/usage?range=custom&"+query), 422, text)
		has(t, text+", exported", p.see("/console/usage.csv?range=custom&"+query), 422, text)
	}
	if _, err := h.db.ExecContext(t.Context(), `update usage_rollups set cost_nanos = cost_nanos + 1 where model = 'reel'`); err != nil {
		t.Fatal(err)
	}
	has(t, "wrong books", p.see("/console/usage"), 200, "do not agree")
	has(t, "another account's", h.signedIn("stranger@example.com").see("/console/usage"), 200, "Nothing was used in this range")
}

func TestUsageIsExportedAsItIsShown(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	p := h.signedIn("export@example.com")
	account := h.accountOf("export@example.com")
	h.call(account, 7, billing.UsageRecord{Model: "=HYPERLINK(1)", Style: "videos", Usage: meter.Counts{meter.Seconds: 1005}})
	h.call(account, 36, billing.UsageRecord{Model: "aurora-large", Style: "chat"})
	a := p.see("/console/usage.csv?range=24h")
	rows, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
	if err != nil || a.status != 200 || len(rows) != 3 || !strings.Contains(a.header.Get("Content-Disposition"), `filename="usage-`) {
		t.Fatalf("%d %v %v", a.status, rows, err)
	}
	if rows[2][3] != "'=HYPERLINK(1)" || rows[2][11] != "1.005" || rows[2][12] != "0.000000007" || rows[1][12] != "0.000000036" || rows[1][2] != "hour" {
		t.Errorf("exported as %q", rows)
	}
	var out struct {
		Total struct {
			Cost string `json:"cost_usd"`
		}
		Lines []struct {
			Group string
			Start time.Time
		}
	}
	j := p.see("/console/usage.json?range=24h&by=modality")
	if err := json.Unmarshal([]byte(j.body), &out); err != nil || out.Total.Cost != "0.000000043" || len(out.Lines) != 2 || out.Lines[0].Start.IsZero() {
		t.Errorf("%v: %s", err, j.body)
	}
	if one := p.see("/console/usage.csv?model=aurora-large"); strings.Contains(one.body, "HYPERLINK") || !strings.Contains(one.body, "aurora-large") {
		t.Errorf("filtered: %s", one.body)
	}
}

func TestRequestsAreFilteredPagedAndExported(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	p := h.signedIn("log@example.com")
	account := h.accountOf("log@example.com")
	has(t, "before", p.see("/console/requests"), 200, "No requests yet")
	began := time.Now().Add(-time.Hour).Truncate(time.Second)
	const calls = 52
	for i := range calls {
		h.call(account, app.Amount(i), billing.UsageRecord{Model: "aurora-large", Style: "chat", StartedAt: began.Add(time.Duration(i) * time.Millisecond)})
	}
	video := h.call(account, 9, billing.UsageRecord{Model: "reel", Style: "videos", EndUser: "-1+1", Usage: meter.Counts{meter.Seconds: 8000}})
	failed := h.call(account, 0, billing.UsageRecord{
		Model: "aurora-large", Style: "chat", Outcome: "failed", Reason: "upstream_failed", ErrorCode: "upstream_error", Provider: "p", UpstreamModel: "m",
	})
	first := p.see("/console/requests")
	has(t, "all", first, 200, "50 requests on this page", "Older", "/console/requests/"+failed, "/console/videos/"+video, "The provider failed", "p / m")
	older := hrefWith(t, first.body, "after=")
	has(t, "the next page", p.see(older), 200, "4 requests on this page", "Newest")
	has(t, "a page that is none", p.see("/console/requests?after=x"), 422, "Begin with the first page")
	from := url.QueryEscape(began.UTC().Format("2006-01-02T15:04") + "Z")
	for name, c := range map[string]struct{ query, want string }{
		"model": {"model=reel", video}, "style": {"style=videos", video}, "outcome": {"outcome=failed", failed}, "reason": {"reason=upstream_failed", failed},
		"end user": {"end_user=-1%2B1", video}, "search": {"q=" + failed, failed}, "provider": {"provider=p", failed}, "model used": {"used=m", failed}, "error": {"error=upstream_error", failed},
		"cost": {"cost_from=0.000000051&outcome=succeeded&model=aurora-large", ""},
	} {
		has(t, name, p.see("/console/requests?"+c.query), 200, "1 request<", c.want, "Clear all")
	}
	has(t, "until", p.see("/console/requests?to="+from), 200, "No request matches")
	has(t, "in another zone", p.see("/console/requests?tz=Asia%2FKolkata&from="+from), 200, "50 requests on this page", began.Add(330*time.Minute).UTC().Format("2006-01-02T15:04"))
	has(t, "backwards", p.see("/console/requests?from=2026-02-02&to=2026-02-01"), 200, "No time is in that range")
	a := p.see("/console/requests.csv?after=x")
	rows, err := csv.NewReader(strings.NewReader(a.body)).ReadAll()
	if err != nil || a.status != 200 || len(rows) != 1+calls+2 || rows[0][1] != "time_zone" || rows[2][1] != "UTC" ||
		rows[2][14] != "'-1+1" || rows[2][25] != "0.000000009" {
		t.Errorf("%d: %d rows, %v", a.status, len(rows), err)
	}
	var out struct{ Requests []map[string]any }
	j := p.see("/console/requests.json?model=reel")
	if err := json.Unmarshal([]byte(j.body), &out); err != nil || len(out.Requests) != 1 || out.Requests[0]["request"] != video || out.Requests[0]["cost_usd"] != "0.000000009" {
		t.Errorf("%v: %s", err, j.body)
	}
	if none := p.see("/console/requests.json?model=none"); none.body != "{\"time_zone\":\"UTC\",\"requests\":[]}\n" {
		t.Errorf("nothing is %q", none.body)
	}
	if far := p.see("/console/requests.json?model=reel&tz=Asia%2FKolkata").body; !strings.HasPrefix(far, `{"time_zone":"Asia/Kolkata",`) ||
		!strings.Contains(far, `+05:30","request":"`+video) {
		t.Errorf("in another zone: %s", far)
	}
	has(t, "a call in its list", p.see("/console/requests/"+video+"?cost_to=0.000000009"), 200, "Older", "/console/playground/video?model=reel")
	has(t, "many rows", p.see("/console/requests?rows=10000&hide=tokens"), 200, "54 requests<", `class="table log-dense`)
	has(t, "a tag that no key has", p.see("/console/requests?tag=none"), 200, "No request matches")
	has(t, "another account's", h.signedIn("stranger@example.com").see("/console/requests"), 200, "No requests yet")
}

// hrefWith is the first link with a text in its address.
func hrefWith(t *testing.T, body, text string) string {
	t.Helper()
	for part := range strings.SplitSeq(body, `href="`) {
		if address, _, _ := strings.Cut(part, `"`); strings.Contains(address, text) && strings.HasPrefix(address, "/") {
			return strings.ReplaceAll(address, "&amp;", "&")
		}
	}
	t.Fatalf("no link with %s", text)
	return ""
}

func TestARequestIsPricedAgainByTheVersionItNames(t *testing.T) {
	t.Parallel()
	h := withPayments(t)
	file, err := catalog.ParseFile(catalog.Default())
	if err == nil {
		err = catalog.Apply(t.Context(), h.db, file)
	}
	if err != nil {
		t.Fatal(err)
	}
	var card struct{ ID, Model string }
	err = h.db.QueryRowContext(t.Context(), `
		insert into rate_cards (model_id, version, rates) select model_id, 7, '[{"meter": "input_tokens", "amount": 150000001, "per": 1000000},
			{"meter": "output_tokens", "amount": 600000000, "per": 1000000}]' from rate_cards where version = 1 order by 1 limit 1
		returning id, model_id`).Scan(&card.ID, &card.Model)
	if err != nil {
		t.Fatal(err)
	}
	p := h.signedIn("one@example.com")
	account := h.accountOf("one@example.com")
	record := billing.UsageRecord{
		Model: card.Model, Style: "chat", RateCardID: card.ID, Streamed: true, Provider: "p", UpstreamModel: "m", FinishReason: "stop", Attempts: 2,
		StartedAt: time.Now().Add(-2 * time.Second), FirstByte: 300 * time.Millisecond, Duration: 2 * time.Second, Usage: meter.Counts{meter.InputTokens: 3, meter.OutputTokens: 10},
	}
	id := h.call(account, 6451, record)
	a := p.see("/console/requests/" + id)
	has(t, "a call", a, 200, "$0.000000450000003", "$0.000006", "$0.000006450000003", "+$0.000000000999997", "$0.000006451", "/console/billing/rules#completed",
		"/console/billing/ledger?before=", "Attempt 2: sent to p / m", "1 earlier attempt failed", "300 ms of 2.00 s", "Copy as cURL", "transaction=txn_")
	has(t, "its ledger entry", p.see(hrefWith(t, a.body, "ledger?before=")), 200, hrefWith(t, a.body, "transaction=txn_"))
	has(t, "its charge", p.see(hrefWith(t, a.body, "transaction=txn_")), 200, id, "1 request<")
	record.RateCardID = "gone@1"
	has(t, "prices of which nothing is known", p.see("/console/requests/"+h.call(account, 6451, record)), 200, "is no longer stored", "gone@1", "$0.000006451")
	record.Trail = billing.RequestTiming{Checked: time.Millisecond, Admitted: 2 * time.Millisecond, Funded: 3 * time.Millisecond, Attempts: []billing.Attempt{
		{Provider: "later", Status: 200, Start: 20 * time.Millisecond, First: 90 * time.Millisecond},
		{Provider: "sooner", Status: 503, Cause: "server_error", Start: 4 * time.Millisecond, Took: 12 * time.Millisecond},
	}}
	traced := h.call(account, 6451, record)
	has(t, "the way of a call", p.see("/console/requests/"+traced), 200, "Attempt 1: sooner", ">503<", "The provider failed", "+4 ms", "12 ms",
		"Attempt 2: later", "First content after 90 ms", "Attempts that failed took 12 ms of it")
	has(t, "it in JSON", p.see("/console/requests.json?q="+traced), 200, `{"provider":"sooner","status":503,"cause":"server_error",`+
		`"started_ms":4,"first_content_ms":0,"failed_ms":12}`)
	record.Outcome, record.Reason, record.ErrorCode = "failed", "upstream_failed", "upstream_error"
	record.RateCardID, record.Usage = card.ID, meter.Counts{}
	has(t, "one that failed", p.see("/console/requests/"+h.call(account, 0, record)), 200, "Nothing was charged", "Cause and fix", "The provider failed",
		"safe to retry", "No ledger entry")
	has(t, "an unknown one", p.see("/console/requests/req_none"), 404)
	has(t, "another account's", h.signedIn("stranger@example.com").see("/console/requests/"+id), 404)
}
