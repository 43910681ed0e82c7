package e2e

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
)

// data reads an answer whose object stands below data.
func (c customer) data(t *testing.T, path string) map[string]any {
	t.Helper()
	a := c.call(t, "GET", path, "")
	o, ok := object(t, a.body)["data"].(map[string]any)
	if a.status != http.StatusOK || !ok {
		t.Fatalf("%s: %d %s", path, a.status, a.body)
	}
	return o
}

// spent is what the ledger charged an account so far, once the database has every settlement.
func (c customer) spent(t *testing.T) int64 {
	t.Helper()
	c.balanceOf(t, c.accountID)
	var sum int64
	err := c.db(t).Get(&sum, `select coalesce(-sum(e.amount_nanos), 0)::bigint from ledger_entries e join ledger_transactions x on x.id = e.transaction_id
		where e.account_id = $1 and x.kind = 'charge'`, c.accountID)
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
	g := running(t)
	c, stranger := g.newCustomer(t, "generation"), g.newCustomer(t, "stranger")
	for _, p := range allProtocols() {
		a := p.send(t, c, p.ask(p.model, "count to 20", `"stream":true`, p.wantsUsage()))
		ended := time.Now()
		if a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", p.style, a.status, a.body)
		}
		id, cost := a.header.Get("X-Generation-Id"), costIn(t, a.body)
		o := c.data(t, "/v1/generation?id="+url.QueryEscape(id))
		if took := time.Since(ended); took > time.Second {
			t.Errorf("%s: the record took %s", p.style, took)
		}
		if got := slices.Sorted(maps.Keys(o)); !slices.Equal(got, generationMembers) {
			t.Errorf("%s: the members are %v", p.style, got)
		}
		r := c.record(t, a.header.Get("X-Request-Id"))
		if nanos(t, number(o["total_cost"]).String()) != cost || r.Cost != cost || nanos(t, number(o["usage"]).String()) != cost ||
			textAt(o, "id") != id || textAt(o, "model") != p.model || o["streamed"] != true || o["is_byok"] != false ||
			tokensAt(t, o, "native_tokens_completion") != r.Output || tokensAt(t, o, "native_tokens_prompt") != r.Input {
			t.Errorf("%s shows %d, recorded is %+v: %v", p.style, cost, r, o)
		}
		if b := stranger.call(t, "GET", "/v1/generation?id="+url.QueryEscape(id), ""); b.status != http.StatusNotFound {
			t.Errorf("%s: a stranger is answered %d %s", p.style, b.status, b.body)
		}
	}
	for _, query := range []string{"", "?id=", "?id=req_nothing"} {
		if a := c.call(t, "GET", "/v1/generation"+query, ""); a.status != http.StatusBadRequest && a.status != http.StatusNotFound {
			t.Errorf("%q: %d %s", query, a.status, a.body)
		}
	}
}

// TestAPIUsageAddsUpToTheLedger calls in every style and compares every report with the ledger, to the nano-dollar.
func TestAPIUsageAddsUpToTheLedger(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "reports")
	for i, p := range allProtocols() {
		for _, model := range []string{p.model, p.other} {
			a := p.send(t, c, p.ask(model, fmt.Sprint("count to ", 10+i)))
			if a.status != http.StatusOK {
				t.Fatalf("%s: %d %s", model, a.status, a.body)
			}
		}
		p.send(t, c, p.ask(p.model, "count to 7", `"stream":true`))
	}
	spent := c.spent(t)
	if b := c.balanceOf(t, c.accountID); spent == 0 || b.Posted != 5_000_000_000-spent {
		t.Errorf("%d is charged, the balance is %+v", spent, b)
	}
	credits := object(t, c.call(t, "GET", "/v1/credits", "").body)
	if nanos(t, textAt(credits, "total_used")) != spent || nanos(t, textAt(credits, "balance")) != 5_000_000_000-spent ||
		nanos(t, number(at(credits, "data", "total_credits")).String()) != 5_000_000_000 ||
		nanos(t, number(at(credits, "data", "total_usage")).String()) != spent {
		t.Errorf("of %d spent the credits say %v", spent, credits)
	}
	key := c.data(t, "/v1/key")
	for _, span := range []string{"usage", "usage_daily", "usage_weekly", "usage_monthly"} {
		if nanos(t, number(key[span]).String()) != spent {
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
			c.reportsAddUp(t, url.Values{"group_by": {group}, "tz": {zone}}, spent)
		}
	}
	if a := c.call(t, "GET", "/v1/usage?group_by=planet", ""); a.status != http.StatusBadRequest {
		t.Errorf("an unknown grouping: %d %s", a.status, a.body)
	}
	if a := c.call(t, "GET", "/v1/usage?tz=Mars/Olympus", ""); a.status != http.StatusBadRequest {
		t.Errorf("an unknown zone: %d %s", a.status, a.body)
	}
}

// reportsAddUp reads one report as JSON and as a table, and compares both with what was spent.
func (c customer) reportsAddUp(t *testing.T, q url.Values, spent int64) {
	t.Helper()
	if q.Get("group_by") == "" {
		q.Del("group_by")
	}
	path := "/v1/usage?" + q.Encode()
	a := c.call(t, "GET", path, "")
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
	if err := json.Unmarshal([]byte(a.body), &report); err != nil || a.status != http.StatusOK {
		t.Fatalf("%s: %d %v: %s", path, a.status, err, a.body)
	}
	var sum, requests int64
	for _, line := range report.Data {
		sum += nanos(t, line.Cost.String())
		requests += line.Requests
		if q.Get("tz") == "Asia/Kathmandu" && line.Start != "" && !strings.HasSuffix(line.Start, ":00:00+05:45") {
			t.Errorf("%s: a line begins at %s", path, line.Start)
		}
	}
	if sum != spent || nanos(t, report.Total.Cost.String()) != spent || requests != 12 || report.Total.Requests != 12 || report.TZ != q.Get("tz") {
		t.Errorf("%s: the lines cost %d of %d: %s", path, sum, spent, a.body)
	}
	table := c.call(t, "GET", path, "", "Accept", "text/csv")
	rows, err := csv.NewReader(strings.NewReader(table.body)).ReadAll()
	if err != nil || len(rows) != len(report.Data)+1 || !strings.HasPrefix(table.header.Get("Content-Type"), "text/csv") {
		t.Fatalf("%s as a table: %v %v: %s", path, table.header, err, table.body)
	}
	sum = 0
	last := slices.Index(rows[0], "cost")
	for _, row := range rows[1:] {
		sum += nanos(t, row[last])
	}
	if sum != spent {
		t.Errorf("%s as a table costs %d of %d: %s", path, sum, spent, table.body)
	}
}

// TestAPIDryRunBoundsTheCost asks for the price in every style first and makes the call then: nothing is spent by the
// first, and the second costs what was said at most, and at least.
func TestAPIDryRunBoundsTheCost(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "dry")
	before := c.balanceOf(t, c.accountID)
	type bounds struct{ least, most int64 }
	quoted := map[string]bounds{}
	bodies := map[string]string{}
	for _, p := range allProtocols() {
		bodies[p.style] = p.ask(p.model, "count to 25", p.bounded(400))
		a := p.send(t, c, bodies[p.style], "X-Dry-Run", "1")
		o := object(t, a.body)
		if a.status != http.StatusOK || textAt(o, "object") != "text.quote" || textAt(o, "model") != p.model {
			t.Fatalf("%s: %d %s", p.style, a.status, a.body)
		}
		quoted[p.style] = bounds{nanos(t, number(o["cost_min"]).String()), nanos(t, number(o["cost_max"]).String())}
	}
	c.nothingHappened(t, before)
	for _, p := range allProtocols() {
		a := p.send(t, c, bodies[p.style])
		if cost, q := costIn(t, a.body), quoted[p.style]; cost == 0 || cost < q.least || cost > q.most {
			t.Errorf("%s costs %d, quoted was %+v", p.style, cost, q)
		}
	}
}

// nothingHappened insists that an account's money is as it was, and that no call of it is recorded.
func (c customer) nothingHappened(t *testing.T, before balance) {
	t.Helper()
	// The call of another account must not show in this one's usage.
	running(t).applied(t)
	var rows int
	err := c.db(t).Get(&rows, `select (select count(*) from usage_records where account_id = $1) + (select count(*) from holds where account_id = $1)
		+ (select count(*) from leases where credit_account_id = $1)`, c.accountID)
	if err != nil || rows != 0 {
		t.Errorf("%d rows, %v", rows, err)
	}
	if after := c.balanceOf(t, c.accountID); after != before {
		t.Errorf("the balance was %+v and is %+v", before, after)
	}
}

// TestAPIDryRunOfVideos asks what a video and a remix cost, makes both, and pays exactly that.
func TestAPIDryRunOfVideos(t *testing.T) {
	t.Parallel()
	c := videoDemo(t).newCustomer(t, "dry-video")
	before := c.balanceOf(t, c.accountID)
	quote := func(path, body string) int64 {
		a := c.call(t, http.MethodPost, path, body, "X-Dry-Run", "1")
		o := object(t, a.body)
		if a.status != http.StatusOK || textAt(o, "object") != "video.quote" || nanos(t, number(o["cost_min"]).String()) != 0 ||
			number(o["cost"]) != number(o["cost_max"]) {
			t.Fatalf("%s: %d %s", path, a.status, a.body)
		}
		return nanos(t, number(o["cost_max"]).String())
	}
	body := videoBody(reelModel, "a kite over a harbour")
	first := quote(videosPath, body)
	var jobs int
	err := c.db(t).Get(&jobs, `select (select count(*) from video_jobs where account_id = $1) + (select count(*) from holds where account_id = $1)`, c.accountID)
	if b := c.balanceOf(t, c.accountID); err != nil || jobs != 0 || b != before {
		t.Errorf("%d rows, %v, the balance was %+v and is %+v", jobs, err, before, b)
	}
	source := textAt(c.film(t, body), "id")
	if b := c.balanceOf(t, c.accountID); before.Posted-b.Posted != first {
		t.Errorf("quoted was %d, paid %d", first, before.Posted-b.Posted)
	}
	remix := videosPath + "/" + source + "/remix"
	second := quote(remix, `{"prompt":"at night"}`)
	made := c.taken(t, remix, `{"prompt":"at night"}`)
	if o := c.ended(t, made); textAt(o, "status") != "completed" {
		t.Fatalf("the remix: %v", o)
	}
	if b := c.balanceOf(t, c.accountID); before.Posted-b.Posted != first+second {
		t.Errorf("quoted were %d and %d, paid %d", first, second, before.Posted-b.Posted)
	}
}

// taken sends a call for a video that must be taken, and returns the video's id.
func (c customer) taken(t *testing.T, path, body string) string {
	t.Helper()
	return textAt(taskOf(t, c.call(t, http.MethodPost, path, body)), "id")
}

// TestAPIBudgetStopsOneKey gives a key a tenth of a cent: it is refused when that is spent, another key of the account
// works on, and once the day is over there is a tenth of a cent again.
func TestAPIBudgetStopsOneKey(t *testing.T) {
	t.Parallel()
	c := running(t).newCustomer(t, "budget")
	c.setLimits(t, 1000)
	p := c.signedIn(t)
	a := p.visit(t, "/console/keys", url.Values{
		"name": {"narrow"}, "mode": {"standard"}, "budget": {"0.001"}, "budget_period": {"day"},
	})
	narrow := bearer(secretPattern.FindString(a.body))
	if a.status != http.StatusOK || narrow[1] == "Bearer " {
		t.Fatalf("create key: %d %s", a.status, a.body)
	}
	body := ask(cheapModel, "count to 100", `"max_tokens":200`)
	var shown int64
	refused := answer{}
	for range budgetCallsMax {
		a := c.call(t, "POST", chatPath, body, narrow...)
		if a.status != http.StatusOK {
			refused = a
			break
		}
		shown += costIn(t, a.body)
	}
	if refused.status != http.StatusPaymentRequired || refused.header.Get("X-Error-Code") != "budget_exceeded" ||
		!strings.Contains(refused.body, "budget") || shown == 0 || shown > 1_000_000 {
		t.Fatalf("after %d nano-dollars: %d %s", shown, refused.status, refused.body)
	}
	decodeCompletion(t, c.call(t, "POST", chatPath, body))
	key := object(t, c.call(t, "GET", "/v1/key", "", narrow...).body)["data"].(map[string]any)
	left := nanos(t, number(key["limit_remaining"]).String())
	if nanos(t, number(key["limit"]).String()) != 1_000_000 || left != 1_000_000-shown || textAt(key, "limit_reset") != "day" ||
		textAt(key, "limit_resets_at") == "" {
		t.Errorf("of a budget of which %d is spent the key says %v", shown, key)
	}
	for _, proto := range newProtocols() {
		proto.fails(t, proto.send(t, c, proto.ask(proto.model, "count to 900", proto.bounded(2000)), narrow...), "unfunded", "budget_exceeded", "")
	}
	c.balanceOf(t, c.accountID)
	c.db(t).MustExec(`update key_budgets set period_start = period_start - interval '1 day' where account_id = $1`, c.accountID)
	until(t, "the budget is refilled", func() bool {
		return c.call(t, "POST", chatPath, body, narrow...).status == http.StatusOK
	})
	c.books(t)
}

// budgetCallsMax is more calls than a tenth of a cent pays for.
const budgetCallsMax = 100
