package usage_test

import (
	"slices"
	"testing"
	"time"

	"umg/app"
	"umg/billing"
	"umg/billing/usage"
)

// refuse stores a refusal of an account.
func (h *fixture) refuse(account, id string, at time.Time, status int, code string, represents int) {
	h.Helper()
	h.exec(`insert into refusals (request_id, account_id, key_id, at, method, route, style, model, status, code, param, message, duration_micros,
			represents, written_at)
		values ($2, $1, 'key_1', $3, 'POST', '/v1/chat/completions', 'chat', 'aurora-small', $4, $5, 'model', 'No.', 1500, $6, $3)`,
		account, id, at.UTC(), status, code, represents)
}

func ids(list []usage.Request) (all []string) {
	for _, r := range list {
		all = append(all, r.RequestID)
	}
	return all
}

func TestTheRequestLogHasCallsAndRefusalsInOneOrder(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account, other := h.account(app.Dollar), h.account(app.Dollar)
	began := time.Now().Add(-10 * time.Minute).Truncate(time.Second)
	at := func(n int) time.Time { return began.Add(time.Duration(n) * time.Second) }
	first := h.use(account, at(0), 5, nil)
	h.refuse(account, "req_r1", at(1), 404, "model_not_found", 1)
	failed := h.use(account, at(2), 0, func(r *billing.UsageRecord) { r.Outcome, r.ErrorCode = "failed", "upstream_error" })
	h.refuse(account, "req_r2", at(3), 429, "rate_limit_exceeded", 40)
	h.refuse(account, "req_r3", at(4), 500, "internal_error", 1)
	h.refuse(other, "req_x", at(2), 404, "model_not_found", 1)
	for name, c := range map[string]struct {
		q    usage.RecordQuery
		want []string
	}{
		"all":           {usage.RecordQuery{}, []string{"req_r3", "req_r2", failed, "req_r1", first}},
		"refused":       {usage.RecordQuery{Outcome: usage.OutcomeRefused}, []string{"req_r2", "req_r1"}},
		"failed":        {usage.RecordQuery{Outcome: "failed"}, []string{"req_r3", failed}},
		"all errors":    {usage.RecordQuery{Outcome: usage.NotSucceeded}, []string{"req_r3", "req_r2", failed, "req_r1"}},
		"succeeded":     {usage.RecordQuery{Outcome: "succeeded"}, []string{first}},
		"code":          {usage.RecordQuery{ErrorCode: "model_not_found"}, []string{"req_r1"}},
		"id":            {usage.RecordQuery{Search: "req_r"}, []string{"req_r3", "req_r2", "req_r1"}},
		"another's id":  {usage.RecordQuery{Search: "req_x"}, nil},
		"time":          {usage.RecordQuery{From: at(1), To: at(3)}, []string{failed, "req_r1"}},
		"key":           {usage.RecordQuery{KeyID: "key_2"}, nil},
		"keys of a tag": {usage.RecordQuery{Keys: []string{}}, nil},
		"cost":          {usage.RecordQuery{CostFrom: new(app.Amount(1))}, []string{first}},
		"end user":      {usage.RecordQuery{EndUser: "jane"}, nil},
		"model":         {usage.RecordQuery{Model: "aurora-small", Style: "chat", Outcome: usage.OutcomeRefused}, []string{"req_r2", "req_r1"}},
	} {
		c.q.AccountID = account
		var got []string
		for c.q.Limit = 2; ; { // A page has two requests.
			page, err := h.reports.RequestLog(h.ctx, c.q)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ids(page.Requests)...)
			if c.q.After = page.Next; page.Next == "" {
				break
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	h.checkRefusal(account, other, failed)
	latest, err := h.reports.FailedRequests(h.ctx, account, at(0), 3)
	if err != nil || !slices.Equal(ids(latest), []string{"req_r3", "req_r2", failed}) {
		t.Errorf("%v, %v", ids(latest), err)
	}
	bars, err := h.reports.Histogram(h.ctx, usage.RecordQuery{AccountID: account, From: at(0), To: at(60)}, time.Minute)
	if err != nil || bars.Bars[0].Requests != 44 || bars.Bars[0].Failed != 43 {
		t.Errorf("%+v, %v", bars, err)
	}
	tail, next, err := h.reports.Tail(h.ctx, usage.RecordQuery{AccountID: account, Outcome: usage.OutcomeRefused}, "1.0")
	if err != nil || !slices.Equal(ids(tail), []string{"req_r1", "req_r2"}) {
		t.Fatalf("%v, %v", ids(tail), err)
	}
	if tail, _, err = h.reports.Tail(h.ctx, usage.RecordQuery{AccountID: account, Outcome: usage.OutcomeRefused}, next); err != nil || len(tail) != 0 {
		t.Errorf("%v, %v", ids(tail), err)
	}
	h.checkInvariants()
}

// checkRefusal looks at one refusal as its account and as another one. Before it is a failed call.
func (h *fixture) checkRefusal(account, other, failed string) {
	h.Helper()
	r, err := h.reports.Request(h.ctx, account, "req_r2")
	if err != nil || r.Refusal == nil || r.Refusal.Status != 429 || r.Refusal.Represents != 40 || r.Outcome != usage.OutcomeRefused || r.Cost != 0 {
		h.Fatalf("%+v, %v", r, err)
	}
	newer, older, err := h.reports.Neighbours(h.ctx, usage.RecordQuery{AccountID: account}, r.UsageRecord)
	if err != nil || newer != "req_r3" || older != failed {
		h.Errorf("the neighbours are %s and %s, %v", newer, older, err)
	}
	for _, id := range []string{"req_r1", "req_"} {
		if _, err := h.reports.Request(h.ctx, other, id); app.KindOf(err) != app.NotFound {
			h.Errorf("another account gets %s: %v", id, err)
		}
	}
}

func TestReportsCountRefusalsApart(t *testing.T) {
	t.Parallel()
	h := setup(t)
	account := h.account(app.Dollar)
	from := time.Now().UTC().Truncate(time.Hour).Add(-2 * time.Hour)
	h.use(account, from.Add(time.Minute), 7, nil)
	h.refuse(account, "req_r1", from.Add(2*time.Minute), 429, "rate_limit_exceeded", 12)
	h.refuse(account, "req_r2", from.Add(70*time.Minute), 404, "model_not_found", 1)
	h.refuse(account, "req_r3", from.Add(71*time.Minute), 500, "internal_error", 1)
	q := usage.Query{AccountID: account, From: from, To: from.Add(2 * time.Hour), Step: usage.Hourly, Group: usage.ByModel, Refusals: true}
	report, err := h.reports.Report(h.ctx, q)
	if err != nil || len(report.Lines) != 2 || report.Total.Requests != 1 || report.Total.Cost != 7 || report.Total.Refused != 13 ||
		report.Total.RateLimited != 12 {
		t.Fatalf("%+v, %v", report, err)
	}
	if a, b := report.Lines[0], report.Lines[1]; a.Requests != 1 || a.Refused != 12 || b.Requests != 0 || b.Refused != 1 || b.RateLimited != 0 ||
		!b.Start.Equal(from.Add(time.Hour)) {
		t.Errorf("%+v", report.Lines)
	}
	q.Refusals = false
	if report, err = h.reports.Report(h.ctx, q); err != nil || len(report.Lines) != 1 || report.Total.Refused != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	q.Refusals, q.EndUser = true, "jane"
	if report, err = h.reports.Report(h.ctx, q); err != nil || report.Total.Refused != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}
