package money

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// spent is what the ledger charged an account so far, once the database has every settlement.
func spent(t *testing.T, c harness.Customer) int64 {
	t.Helper()
	c.SettledBalance(t, c.AccountID)
	var sum int64
	err := c.DB(t).Get(&sum, `select coalesce(-sum(e.amount_nanos), 0)::bigint from ledger_entries e join ledger_transactions x on x.id = e.transaction_id
		where e.account_id = $1 and x.kind = 'charge'`, c.AccountID)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

var generationMembers = []string{
	"billable_web_search_calls", "created_at", "finish_reason", "generation_time", "id", "is_byok", "latency", "model",
	"native_tokens_cache_creation", "native_tokens_cached", "native_tokens_completion", "native_tokens_prompt", "native_tokens_reasoning",
	"provider_name", "provider_responses", "streamed", "total_cost", "upstream_inference_cost", "usage",
}

// TestAPIGenerationFollowsTheStream reads what a call was within a second of its end, with exactly the members that
// are documented, and only as the account that made it.
func TestAPIGenerationFollowsTheStream(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	c, stranger := g.NewCustomer(t, "generation"), g.NewCustomer(t, "stranger")
	for _, p := range harness.AllStyles() {
		a := p.Send(t, c, p.Request(p.Model, "count to 20", `"stream":true`, p.IncludeUsage()))
		ended := time.Now()
		if a.Status != http.StatusOK {
			t.Fatalf("%s: %d %s", p.Name, a.Status, a.Body)
		}
		id, cost := a.Header.Get("X-Generation-Id"), harness.ShownCost(t, a.Body)
		o := c.GetData(t, "/v1/generation?id="+url.QueryEscape(id))
		if took := time.Since(ended); took > time.Second {
			t.Errorf("%s: the record took %s", p.Name, took)
		}
		if got := slices.Sorted(maps.Keys(o)); !slices.Equal(got, generationMembers) {
			t.Errorf("%s: the members are %v", p.Name, got)
		}
		r := c.UsageRecord(t, a.Header.Get("X-Request-Id"))
		if harness.Nanos(t, harness.Number(o["total_cost"]).String()) != cost || r.Cost != cost || harness.Nanos(t, harness.Number(o["usage"]).String()) != cost ||
			harness.TextMember(o, "id") != id || harness.TextMember(o, "model") != p.Model || o["streamed"] != true || o["is_byok"] != false ||
			harness.TokensMember(t, o, "native_tokens_completion") != r.Output || harness.TokensMember(t, o, "native_tokens_prompt") != r.Input {
			t.Errorf("%s shows %d, recorded is %+v: %v", p.Name, cost, r, o)
		}
		if b := stranger.Call(t, "GET", "/v1/generation?id="+url.QueryEscape(id), ""); b.Status != http.StatusNotFound {
			t.Errorf("%s: a stranger is answered %d %s", p.Name, b.Status, b.Body)
		}
	}
	for _, query := range []string{"", "?id=", "?id=req_nothing"} {
		if a := c.Call(t, "GET", "/v1/generation"+query, ""); a.Status != http.StatusBadRequest && a.Status != http.StatusNotFound {
			t.Errorf("%q: %d %s", query, a.Status, a.Body)
		}
	}
}

// TestAPIUsageAddsUpToTheLedger calls in every style and compares every report with the ledger, to the nano-dollar.
func TestAPIUsageAddsUpToTheLedger(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "reports")
	for i, p := range harness.AllStyles() {
		for _, model := range []string{p.Model, p.TranslatedModel} {
			a := p.Send(t, c, p.Request(model, fmt.Sprint("count to ", 10+i)))
			if a.Status != http.StatusOK {
				t.Fatalf("%s: %d %s", model, a.Status, a.Body)
			}
		}
		p.Send(t, c, p.Request(p.Model, "count to 7", `"stream":true`))
	}
	spent := spent(t, c)
	if b := c.SettledBalance(t, c.AccountID); spent == 0 || b.Posted != 5_000_000_000-spent {
		t.Errorf("%d is charged, the balance is %+v", spent, b)
	}
	credits := harness.DecodeObject(t, c.Call(t, "GET", "/v1/credits", "").Body)
	if harness.Nanos(t, harness.TextMember(credits, "total_used")) != spent || harness.Nanos(t, harness.TextMember(credits, "balance")) != 5_000_000_000-spent ||
		harness.Nanos(t, harness.Number(harness.Member(credits, "data", "total_credits")).String()) != 5_000_000_000 ||
		harness.Nanos(t, harness.Number(harness.Member(credits, "data", "total_usage")).String()) != spent {
		t.Errorf("of %d spent the credits say %v", spent, credits)
	}
	key := c.GetData(t, "/v1/key")
	for _, span := range []string{"usage", "usage_daily", "usage_weekly", "usage_monthly"} {
		if harness.Nanos(t, harness.Number(key[span]).String()) != spent {
			t.Errorf("of %d spent the key's %s is %v", spent, span, key[span])
		}
	}
	if key["limit"] != nil || key["account_frozen"] != false {
		t.Errorf("the key is %v", key)
	}
	groups := []string{""}
	for _, step := range []string{"", "hour", "day"} {
		for _, group := range []string{"", "model", "key", "style", "end_user", "reason"} {
			groups = append(groups, strings.Trim(step+","+group, ","))
		}
	}
	for _, zone := range []string{"UTC", "Asia/Kathmandu"} {
		for _, group := range groups {
			reportsAddUp(t, c, url.Values{"group_by": {group}, "tz": {zone}}, spent)
		}
	}
	if a := c.Call(t, "GET", "/v1/usage?group_by=planet", ""); a.Status != http.StatusBadRequest {
		t.Errorf("an unknown grouping: %d %s", a.Status, a.Body)
	}
	if a := c.Call(t, "GET", "/v1/usage?tz=Mars/Olympus", ""); a.Status != http.StatusBadRequest {
		t.Errorf("an unknown zone: %d %s", a.Status, a.Body)
	}
}

// reportsAddUp reads one report as JSON and as a table, and compares both with what was spent.
func reportsAddUp(t *testing.T, c harness.Customer, q url.Values, spent int64) {
	t.Helper()
	if q.Get("group_by") == "" {
		q.Del("group_by")
	}
	path := "/v1/usage?" + q.Encode()
	a := c.Call(t, "GET", path, "")
	var report struct {
		Object, TZ string
		Data       []struct {
			Start    string
			Requests int64
			Cost     json.Number
		}
		Total struct {
			Requests int64
			Cost     json.Number
		}
	}
	if err := json.Unmarshal([]byte(a.Body), &report); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%s: %d %v: %s", path, a.Status, err, a.Body)
	}
	var sum, requests int64
	for _, line := range report.Data {
		sum += harness.Nanos(t, line.Cost.String())
		requests += line.Requests
		if q.Get("tz") == "Asia/Kathmandu" && line.Start != "" && !strings.HasSuffix(line.Start, ":00:00+05:45") {
			t.Errorf("%s: a line begins at %s", path, line.Start)
		}
	}
	if sum != spent || harness.Nanos(t, report.Total.Cost.String()) != spent || requests != 12 || report.Total.Requests != 12 || report.TZ != q.Get("tz") {
		t.Errorf("%s: the lines cost %d of %d: %s", path, sum, spent, a.Body)
	}
	table := c.Call(t, "GET", path, "", "Accept", "text/csv")
	rows, err := csv.NewReader(strings.NewReader(table.Body)).ReadAll()
	if err != nil || len(rows) != len(report.Data)+1 || !strings.HasPrefix(table.Header.Get("Content-Type"), "text/csv") {
		t.Fatalf("%s as a table: %v %v: %s", path, table.Header, err, table.Body)
	}
	sum = 0
	last := slices.Index(rows[0], "cost")
	for _, row := range rows[1:] {
		sum += harness.Nanos(t, row[last])
	}
	if sum != spent {
		t.Errorf("%s as a table costs %d of %d: %s", path, sum, spent, table.Body)
	}
}

// TestAPIDryRunBoundsTheCost asks for the price in every style first and makes the call then: nothing is spent by the
// first, and the second costs what was said at most, and at least.
func TestAPIDryRunBoundsTheCost(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "dry")
	before := c.SettledBalance(t, c.AccountID)
	type bounds struct{ least, most int64 }
	quoted := map[string]bounds{}
	bodies := map[string]string{}
	for _, p := range harness.AllStyles() {
		bodies[p.Name] = p.Request(p.Model, "count to 25", p.OutputLimit(400))
		a := p.Send(t, c, bodies[p.Name], "X-Dry-Run", "1")
		o := harness.DecodeObject(t, a.Body)
		if a.Status != http.StatusOK || harness.TextMember(o, "object") != "text.quote" || harness.TextMember(o, "model") != p.Model {
			t.Fatalf("%s: %d %s", p.Name, a.Status, a.Body)
		}
		quoted[p.Name] = bounds{harness.Nanos(t, harness.Number(o["cost_min"]).String()), harness.Nanos(t, harness.Number(o["cost_max"]).String())}
	}
	nothingHappened(t, c, before)
	for _, p := range harness.AllStyles() {
		a := p.Send(t, c, bodies[p.Name])
		if cost, q := harness.ShownCost(t, a.Body), quoted[p.Name]; cost == 0 || cost < q.least || cost > q.most {
			t.Errorf("%s costs %d, quoted was %+v", p.Name, cost, q)
		}
	}
}

// nothingHappened insists that an account's money is as it was, and that no call of it is recorded.
func nothingHappened(t *testing.T, c harness.Customer, before harness.Balance) {
	t.Helper()
	// The call of another account must not show in this one's usage.
	harness.SharedDemo(t).WaitForLedger(t)
	var rows int
	err := c.DB(t).Get(&rows, `select (select count(*) from usage_records where account_id = $1) + (select count(*) from holds where account_id = $1)
		+ (select count(*) from leases where credit_account_id = $1)`, c.AccountID)
	if err != nil || rows != 0 {
		t.Errorf("%d rows, %v", rows, err)
	}
	if after := c.SettledBalance(t, c.AccountID); after != before {
		t.Errorf("the balance was %+v and is %+v", before, after)
	}
}

// TestAPIDryRunOfVideos asks what a video and a remix cost, makes both, and pays exactly that.
func TestAPIDryRunOfVideos(t *testing.T) {
	t.Parallel()
	c := harness.SharedVideoDemo(t).NewCustomer(t, "dry-video")
	before := c.SettledBalance(t, c.AccountID)
	quote := func(path, body string) int64 {
		a := c.Call(t, http.MethodPost, path, body, "X-Dry-Run", "1")
		o := harness.DecodeObject(t, a.Body)
		if a.Status != http.StatusOK || harness.TextMember(o, "object") != "video.quote" || harness.Nanos(t, harness.Number(o["cost_min"]).String()) != 0 ||
			harness.Number(o["cost"]) != harness.Number(o["cost_max"]) {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
		return harness.Nanos(t, harness.Number(o["cost_max"]).String())
	}
	body := harness.VideoBody(harness.VideosModel, "a kite over a harbour")
	first := quote(harness.VideosPath, body)
	var jobs int
	err := c.DB(t).Get(&jobs, `select (select count(*) from video_jobs where account_id = $1) + (select count(*) from holds where account_id = $1)`, c.AccountID)
	if b := c.SettledBalance(t, c.AccountID); err != nil || jobs != 0 || b != before {
		t.Errorf("%d rows, %v, the balance was %+v and is %+v", jobs, err, before, b)
	}
	source := harness.TextMember(c.CompleteVideo(t, body), "id")
	if b := c.SettledBalance(t, c.AccountID); before.Posted-b.Posted != first {
		t.Errorf("quoted was %d, paid %d", first, before.Posted-b.Posted)
	}
	remix := harness.VideosPath + "/" + source + "/remix"
	second := quote(remix, `{"prompt":"at night"}`)
	made := takenMoney(t, c, remix, `{"prompt":"at night"}`)
	if o := c.WaitVideo(t, made); harness.TextMember(o, "status") != "completed" {
		t.Fatalf("the remix: %v", o)
	}
	if b := c.SettledBalance(t, c.AccountID); before.Posted-b.Posted != first+second {
		t.Errorf("quoted were %d and %d, paid %d", first, second, before.Posted-b.Posted)
	}
}

// takenMoney sends a call for a video that must be taken, and returns the video's id.
func takenMoney(t *testing.T, c harness.Customer, path, body string) string {
	t.Helper()
	return harness.TextMember(harness.DecodeVideo(t, c.Call(t, http.MethodPost, path, body)), "id")
}

// TestAPIBudgetStopsOneKey gives a key a tenth of a cent: it is refused when that is spent, another key of the account
// works on, and once the day is over there is a tenth of a cent again.
func TestAPIBudgetStopsOneKey(t *testing.T) {
	t.Parallel()
	c := harness.SharedDemo(t).NewCustomer(t, "budget")
	c.SetLimits(t, 1000)
	p := c.SignInToConsole(t)
	a := p.Visit(t, "/console/keys", url.Values{
		"name": {"narrow"}, "mode": {"standard"}, "budget": {"0.001"}, "budget_period": {"day"},
	})
	narrow := harness.BearerHeader(harness.SecretPattern.FindString(a.Body))
	if a.Status != http.StatusOK || narrow[1] == "Bearer " {
		t.Fatalf("create key: %d %s", a.Status, a.Body)
	}
	body := harness.ChatRequest(harness.CheapModel, "count to 100", `"max_tokens":200`)
	var shown int64
	refused := harness.Response{}
	for range budgetCallsMax {
		a := c.Call(t, "POST", harness.ChatPath, body, narrow...)
		if a.Status != http.StatusOK {
			refused = a
			break
		}
		shown += harness.ShownCost(t, a.Body)
	}
	if refused.Status != http.StatusPaymentRequired || refused.Header.Get("X-Error-Code") != "budget_exceeded" ||
		!strings.Contains(refused.Body, "budget") || shown == 0 || shown > 1_000_000 {
		t.Fatalf("after %d nano-dollars: %d %s", shown, refused.Status, refused.Body)
	}
	harness.DecodeCompletion(t, c.Call(t, "POST", harness.ChatPath, body))
	key := harness.DecodeObject(t, c.Call(t, "GET", "/v1/key", "", narrow...).Body)["data"].(map[string]any)
	left := harness.Nanos(t, harness.Number(key["limit_remaining"]).String())
	if harness.Nanos(t, harness.Number(key["limit"]).String()) != 1_000_000 || left != 1_000_000-shown || harness.TextMember(key, "limit_reset") != "day" ||
		harness.TextMember(key, "limit_resets_at") == "" {
		t.Errorf("of a budget of which %d is spent the key says %v", shown, key)
	}
	for _, proto := range harness.StylesWithStatuses() {
		proto.CheckError(t, proto.Send(t, c, proto.Request(proto.Model, "count to 900", proto.OutputLimit(2000)), narrow...), "unfunded", "budget_exceeded", "")
	}
	c.SettledBalance(t, c.AccountID)
	c.DB(t).MustExec(`update key_budgets set period_start = period_start - interval '1 day' where account_id = $1`, c.AccountID)
	harness.WaitUntil(t, "the budget is refilled", func() bool {
		return c.Call(t, "POST", harness.ChatPath, body, narrow...).Status == http.StatusOK
	})
	c.CheckLedger(t)
}

// budgetCallsMax is more calls than a tenth of a cent pays for.
const budgetCallsMax = 100
