package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"umg/app"
	"umg/app/apikey"
	"umg/app/meter"
	"umg/app/ratelimit"
	"umg/billing"
	"umg/billing/usage"
)

// How long a caller waits for a record that is about to be written, and how many callers may.
const (
	recordWaitMax    = time.Second
	recordWaitStep   = 50 * time.Millisecond
	recordWaitersMax = 64
	microsPerMilli   = 1000
)

// generation is one call as a widespread client library reads it, every member always there.
type generation struct {
	ID               string     `json:"id"`
	TotalCost        app.Amount `json:"total_cost"`
	InferenceCost    app.Amount `json:"upstream_inference_cost"`
	Usage            app.Amount `json:"usage"`
	CreatedAt        string     `json:"created_at"`
	Model            string     `json:"model"`
	ProviderName     string     `json:"provider_name"`
	OwnKey           bool       `json:"is_byok"`
	Streamed         bool       `json:"streamed"`
	FinishReason     string     `json:"finish_reason"`
	Latency          int64      `json:"latency"`
	GenerationTime   int64      `json:"generation_time"`
	Prompt           int64      `json:"native_tokens_prompt"`
	Completion       int64      `json:"native_tokens_completion"`
	Reasoning        int64      `json:"native_tokens_reasoning"`
	Cached           int64      `json:"native_tokens_cached"`
	CacheCreation    int64      `json:"native_tokens_cache_creation"`
	WebSearchCallsNo int64      `json:"billable_web_search_calls"`

	Responses []providerResponse        `json:"provider_responses"`
	Meters    map[string]meter.Quantity `json:"meters,omitempty"` // Meters is an extension with further meters.
}

// providerResponse is one request to a provider, as the same library reads it; error and started are an extension.
type providerResponse struct {
	Provider string  `json:"provider_name"`
	Status   *int    `json:"status"`  // Status is null if the provider did not answer.
	Latency  int64   `json:"latency"` // Latency ends with the first content, or with the failure.
	Error    *string `json:"error"`   // Error is null for the provider that answered.
	Started  int64   `json:"started"` // Started counts from the beginning of the call.
}

func responsesOf(t billing.RequestTiming) []providerResponse {
	list := make([]providerResponse, len(t.Attempts))
	for i, a := range t.Attempts {
		took := a.First
		if took == 0 {
			took = a.Took
		}
		list[i] = providerResponse{
			Provider: a.Provider, Status: orNull(a.Status), Latency: took.Microseconds() / microsPerMilli, Error: orNull(a.Cause),
			Started: a.Start.Microseconds() / microsPerMilli,
		}
	}
	slices.SortStableFunc(list, func(a, b providerResponse) int { return cmp.Compare(a.Started, b.Started) })
	return list
}

// getGeneration answers GET /v1/generation?id=: what one call was and cost. A record is written right after its answer,
// so one that is not there yet is waited for, as long as not too many wait.
func (a *API) getGeneration(x *call) error {
	id := x.QueryParam("id")
	if id == "" {
		e := app.Errorf(app.Invalid, "missing_required_parameter",
			"The query names no call: add ?id= with the x-generation-id of an answer, or the id of a video.").At("id")
		e.Missing = true
		return e
	}
	r, err := a.record(x.Request().Context(), x.key.AccountID, id)
	if err == nil && len(x.key.Models) > 0 && r.KeyID != x.key.ID {
		err = app.Errorf(app.NotFound, "not_found", "")
	}
	if err != nil && app.KindOf(err) == app.NotFound {
		return app.Errorf(app.NotFound, "not_found", "There is no finished call %q that this key may see.", shorten(id)).At("id")
	}
	if err != nil {
		return err
	}
	u, upstream := r.Usage, app.Amount(0)
	if r.UpstreamCost != nil {
		upstream = *r.UpstreamCost
	}
	extendWrite(x.Connection(), a.now())
	return x.JSON(http.StatusOK, map[string]generation{"data": {
		ID: r.RequestID, TotalCost: r.Cost, InferenceCost: upstream, Usage: r.Cost, CreatedAt: r.StartedAt.UTC().Format(time.RFC3339Nano),
		Model: r.Model, ProviderName: r.Provider, Streamed: r.Streamed, FinishReason: r.FinishReason,
		Latency: r.FirstByte.Microseconds() / microsPerMilli, GenerationTime: r.Duration.Microseconds() / microsPerMilli,
		Prompt: u.Prompt(), Completion: u.Output(), Reasoning: u[meter.ReasoningTokens], Cached: u.CacheReads(),
		CacheCreation: u.CacheWrites(), WebSearchCallsNo: u[meter.WebSearches] + u[meter.WebSearchPreviews],
		Responses: responsesOf(r.Trail), Meters: u.Further(),
	}})
}

// record reads a usage record, and looks again for a second while it is not there.
func (a *API) record(ctx context.Context, accountID, id string) (billing.UsageRecord, error) {
	r, err := a.o.Reports.Record(ctx, accountID, id)
	if err == nil || app.KindOf(err) != app.NotFound || a.waiting.Load() >= recordWaitersMax {
		return r, err
	}
	a.waiting.Add(1)
	defer a.waiting.Add(-1)
	again := time.NewTicker(recordWaitStep)
	defer again.Stop()
	end := time.NewTimer(recordWaitMax)
	defer end.Stop()
	for {
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-end.C:
			return a.o.Reports.Record(ctx, accountID, id)
		case <-again.C:
			if r, err = a.o.Reports.Record(ctx, accountID, id); err == nil || app.KindOf(err) != app.NotFound {
				return r, err
			}
		}
	}
}

// getCredits answers GET /v1/credits in the two forms that clients read. What running calls have reserved still counts as
// balance: it is not spent.
func (a *API) getCredits(x *call) error {
	balance, err := a.o.Ledger.Balance(x.Request().Context(), x.key.AccountID)
	if err != nil {
		return err
	}
	keyID := ""
	if len(x.key.Models) > 0 {
		keyID = x.key.ID
	}
	used, err := a.usedSince(x, keyID, time.Unix(0, 0), usage.NoStep)
	if err != nil {
		return err
	}
	extendWrite(x.Connection(), a.now())
	return x.JSON(http.StatusOK, map[string]any{
		"balance": balance.Posted.String(), "total_used": used.Total.Cost.String(),
		"data": map[string]app.Amount{"total_credits": balance.Posted + used.Total.Cost, "total_usage": used.Total.Cost},
	})
}

// usedSince is what the account, or one of its keys, used since a moment until now.
func (a *API) usedSince(x *call, keyID string, since time.Time, step usage.Step) (usage.Report, error) {
	return a.o.Reports.Report(x.Request().Context(), usage.Query{
		AccountID: x.key.AccountID, KeyID: keyID, From: since.UTC(), To: a.now().UTC().Truncate(usageSlot).Add(usageSlot), Step: step,
	})
}

// keyAnswer is what the bearer of a key may know about it.
type keyAnswer struct {
	ID             string      `json:"id"`
	Label          string      `json:"label"`
	Name           string      `json:"name"`
	Environment    string      `json:"environment"`
	Limit          *app.Amount `json:"limit"`
	LimitRemaining *app.Amount `json:"limit_remaining"`
	LimitReset     *string     `json:"limit_reset"`
	LimitResetsAt  *string     `json:"limit_resets_at"`
	Usage          app.Amount  `json:"usage"`
	UsageDaily     app.Amount  `json:"usage_daily"`
	UsageWeekly    app.Amount  `json:"usage_weekly"`
	UsageMonthly   app.Amount  `json:"usage_monthly"`
	Scopes         []app.Scope `json:"scopes"`
	Models         []string    `json:"models"`
	Addresses      []string    `json:"addresses"`
	LogContent     bool        `json:"log_content"`
	Strict         bool        `json:"strict"`
	RateLimits     keyLimits   `json:"rate_limits"`
	Frozen         bool        `json:"account_frozen"`
	CreatedAt      string      `json:"created_at"`
	ExpiresAt      *string     `json:"expires_at"`
	OldSecretUntil *string     `json:"old_secret_valid_until"` // OldSecretUntil is null once that time has passed.
}

// keyLimits bound the calls of a key. Limits per minute are those of the key over all models, and null for none; GET /v1/models has the
// limits of each model. Factor multiplies the limits of the account and of the models, not those of the key.
type keyLimits struct {
	Concurrency       int    `json:"concurrency"`
	RequestsPerMinute *int64 `json:"requests_per_minute"`
	TokensPerMinute   *int64 `json:"tokens_per_minute"`
	Factor            int    `json:"factor"`
}

// limitsOf are the limits that hold for a key. The account's limit of simultaneous calls holds for all of its keys together, so
// that a key's own counts where it is the smaller one.
func limitsOf(k apikey.Key) keyLimits {
	factor := max(k.LimitFactor, 1)
	l := keyLimits{
		Concurrency: ratelimit.ConcurrencyStandard * factor, Factor: factor,
		RequestsPerMinute: orNull(k.RequestsPerMinute), TokensPerMinute: orNull(k.TokensPerMinute),
	}
	if k.Concurrency > 0 {
		l.Concurrency = min(l.Concurrency, k.Concurrency)
	}
	return l
}

// getKey answers GET /v1/key: what this key may do and spend, what it has spent, and until when it works. Days, weeks and
// months are those of UTC.
func (a *API) getKey(x *call) error {
	k := x.key
	answer := keyAnswer{
		ID: k.ID, Label: k.Secret.Prefix + "…" + k.Secret.LastFour, Name: k.Name, Environment: k.Env, Frozen: k.Frozen, Scopes: k.Scopes,
		Models: append([]string{}, k.Models...), Addresses: networksOf(k), LogContent: k.LogContent, Strict: k.Strict, RateLimits: limitsOf(k),
		CreatedAt: k.CreatedAt.UTC().Format(time.RFC3339), ExpiresAt: moment(k.ExpiresAt),
	}
	if k.Secret.PreviousUntil != nil && k.Secret.PreviousUntil.After(a.now()) {
		answer.OldSecretUntil = moment(k.Secret.PreviousUntil)
	}
	if err := a.fillBudget(x, &answer); err != nil {
		return err
	}
	if err := a.fillSpend(x, &answer); err != nil {
		return err
	}
	extendWrite(x.Connection(), a.now())
	return x.JSON(http.StatusOK, map[string]keyAnswer{"data": answer})
}

func moment(t *time.Time) *string {
	if t == nil {
		return nil
	}
	return new(t.UTC().Format(time.RFC3339))
}

// fillBudget adds the key's budget. What running calls have reserved of it is not there to be spent.
func (a *API) fillBudget(x *call, answer *keyAnswer) error {
	if x.key.BudgetID == "" {
		return nil
	}
	budgets, err := a.o.Ledger.Budgets(x.Request().Context(), x.key.AccountID)
	if err != nil {
		return err
	}
	b, found := budgets[x.key.ID]
	if !found {
		return nil
	}
	left := b.Left
	answer.Limit, answer.LimitRemaining, answer.LimitReset = &b.Limit, &left, new(string(b.Period))
	answer.LimitResetsAt = moment(b.ResetsAt)
	return nil
}

// fillSpend adds what the key has spent: at all, and in the day, week and month that are running.
func (a *API) fillSpend(x *call, answer *keyAnswer) error {
	now := a.now().UTC()
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	week, month := day.AddDate(0, 0, -(int(day.Weekday())+6)%7), day.AddDate(0, 0, 1-day.Day())
	since := week
	if month.Before(week) {
		since = month
	}
	days, err := a.usedSince(x, x.key.ID, since, usage.Daily)
	if err != nil {
		return err
	}
	for _, l := range days.Lines {
		if !l.Start.Before(month) {
			answer.UsageMonthly += l.Cost
		}
		if !l.Start.Before(week) {
			answer.UsageWeekly += l.Cost
		}
		if !l.Start.Before(day) {
			answer.UsageDaily += l.Cost
		}
	}
	all, err := a.usedSince(x, x.key.ID, time.Unix(0, 0), usage.NoStep)
	answer.Usage = all.Total.Cost
	return err
}
