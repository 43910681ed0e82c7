package api

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/app/apikey"
	"umg/billing"
)

// keyRoutes are an extension: the keys of the account, for keys that manage it.
func keyRoutes() []Route {
	const (
		all = "/v1/keys"
		one = all + "/:id"
	)
	g := group{app.ManageKeys, hasAccounts}
	return []Route{
		g.get(all, (*API).listKeys), g.post(all, (*API).createKey),
		g.get(one, (*API).showKey), g.post(one, (*API).updateKey),
		g.route(http.MethodPatch, one, (*API).updateKey), g.delete(one, (*API).deleteKey),
		g.post(one+"/rotate", (*API).rotateKey),
		g.post(one+"/disable", switchKey(true)), g.post(one+"/enable", switchKey(false)),
	}
}

// budgetJSON is what a key may spend in a period. The spent amount is in answers only and is not accepted in requests.
type budgetJSON struct {
	Limit     string  `json:"limit"`
	Period    string  `json:"period"`
	Spent     *string `json:"spent,omitempty"`
	Remaining *string `json:"remaining,omitempty"`
	ResetsAt  *int64  `json:"resets_at,omitempty"`
}

// keyJSON is a key as clients see it. The secret is there once, when it was just made.
type keyJSON struct {
	ID                string           `json:"id"`
	Object            string           `json:"object"`
	Name              string           `json:"name"`
	Secret            string           `json:"secret,omitempty"`
	Prefix            string           `json:"prefix"`
	LastFour          string           `json:"last_four"`
	Environment       string           `json:"environment"`
	Status            string           `json:"status"` // Status is active, disabled or expired.
	ErrorMode         apikey.ErrorMode `json:"error_mode"`
	Scopes            []app.Scope      `json:"scopes"`
	Models            []string         `json:"models"`
	Addresses         []string         `json:"addresses"`
	Budget            *budgetJSON      `json:"budget"`
	BudgetAlerts      []int            `json:"budget_alerts"` // BudgetAlerts are percentages of the budget.
	RequestsPerMinute int64            `json:"requests_per_minute"`
	TokensPerMinute   int64            `json:"tokens_per_minute"`
	Concurrency       int              `json:"concurrency"`
	LogContent        bool             `json:"log_content"`
	Strict            bool             `json:"strict"` // Strict refuses parameters that a model ignores.
	ExpiresAt         *int64           `json:"expires_at"`
	CreatedAt         int64            `json:"created_at"`
	CreatedBy         *string          `json:"created_by"`
	CreatedByKey      *string          `json:"created_by_key"`
	LastUsedAt        *int64           `json:"last_used_at"`
	LastUsedIP        *string          `json:"last_used_ip"`
	RotatedAt         *int64           `json:"rotated_at"`
	OldSecretUntil    *int64           `json:"old_secret_valid_until"`
	OldSecretUsedAt   *int64           `json:"old_secret_last_used_at"`
	LeakedAt          *int64           `json:"leaked_at"`
}

func (a *API) keyBody(k apikey.Key, budgets map[string]billing.Budget, secret string) keyJSON {
	body := keyJSON{
		ID: k.ID, Object: "api_key", Name: k.Name, Secret: secret, Prefix: k.Secret.Prefix, LastFour: k.Secret.LastFour, Environment: k.Env,
		Status: "active", ErrorMode: k.ErrorMode, Scopes: k.Scopes, Models: append([]string{}, k.Models...), Addresses: networksOf(k),
		BudgetAlerts: append([]int{}, k.BudgetAlerts...), RequestsPerMinute: k.RequestsPerMinute, TokensPerMinute: k.TokensPerMinute,
		Concurrency: k.Concurrency, LogContent: k.LogContent, Strict: k.Strict,
		ExpiresAt: seconds(k.ExpiresAt), CreatedAt: k.CreatedAt.Unix(), CreatedBy: orNull(k.CreatedBy), CreatedByKey: orNull(k.CreatedByKey),
		LastUsedAt: seconds(k.LastUse.At), LastUsedIP: orNull(k.LastUse.IP), RotatedAt: seconds(k.Secret.RotatedAt),
		OldSecretUntil: seconds(k.Secret.PreviousUntil), OldSecretUsedAt: seconds(k.Secret.PreviousUsedAt), LeakedAt: seconds(k.Secret.LeakedAt),
	}
	switch {
	case k.Disabled:
		body.Status = "disabled"
	case k.ExpiresAt != nil && !a.now().Before(*k.ExpiresAt):
		body.Status = "expired"
	}
	if b, ok := budgets[k.ID]; ok {
		spent, left := b.Spent.String(), b.Left.String()
		body.Budget = &budgetJSON{
			Limit: b.Limit.String(), Period: string(b.Period), Spent: &spent, Remaining: &left, ResetsAt: seconds(b.ResetsAt),
		}
	}
	return body
}

// networksOf are the networks that a key is taken from, each as it is written.
func networksOf(k apikey.Key) []string {
	words := make([]string, len(k.Addresses))
	for i, p := range k.Addresses {
		words[i] = p.String()
	}
	return words
}

// budgetsOf are the budgets of the keys, read only where there are any.
func (a *API) budgetsOf(x *call, keys ...apikey.Key) (map[string]billing.Budget, error) {
	if a.o.Ledger == nil || !slices.ContainsFunc(keys, func(k apikey.Key) bool { return k.BudgetID != "" }) {
		return nil, nil
	}
	return a.o.Ledger.Budgets(x.Request().Context(), x.key.AccountID)
}

func (a *API) answerKey(x *call, k apikey.Key, secret string) error {
	budgets, err := a.budgetsOf(x, k)
	if err != nil {
		return err
	}
	return a.object(x, a.keyBody(k, budgets, secret))
}

func (a *API) listKeys(x *call) error {
	limit, err := x.pageSize()
	if err != nil {
		return err
	}
	order := x.QueryParam("order")
	if order != "" && order != "asc" && order != "desc" {
		return app.Errorf(app.Invalid, "invalid_request_error", "order must be asc or desc, not %q.", shorten(order)).At("order")
	}
	page, err := a.o.APIKeys.Page(x.Request().Context(), x.principal(),
		apikey.Query{After: x.QueryParam("after"), Limit: limit, OldestFirst: order == "asc"})
	if err != nil {
		return err
	}
	budgets, err := a.budgetsOf(x, page.Keys...)
	if err != nil {
		return err
	}
	return a.object(x, listBody(page.Keys, page.More, func(k apikey.Key) string { return k.ID },
		func(k apikey.Key) keyJSON { return a.keyBody(k, budgets, "") }))
}

// readKey reads the settings of a key from a body; settings that the body lacks stay nil. A null ends a budget, or an expiry. An
// unknown member is an error, because a setting that is silently ignored would leave a key with more rights than its owner intended.
func (a *API) readKey(x *call) (apikey.Patch, error) {
	var c apikey.Patch
	var unread json.RawMessage // These members are read below.
	fields := []field{
		{"name", "a string", &c.Name}, {"environment", "a string", &c.Env}, {"error_mode", `"documented" or "standard"`, &c.ErrorMode},
		{"scopes", "an array of strings", &c.Scopes}, {"models", "an array of strings", &c.Models}, {"addresses", "", &unread},
		{"budget", "", &unread}, {"budget_alerts", "an array of whole numbers from 1 to 100", &c.BudgetAlerts},
		{"requests_per_minute", "a whole number", &c.RequestsPerMinute}, {"tokens_per_minute", "a whole number", &c.TokensPerMinute},
		{"concurrency", "a whole number", &c.Concurrency}, {"log_content", "true or false", &c.LogContent},
		{"strict", "true or false", &c.Strict}, {"expires_at", "", &unread},
	}
	f, err := a.readFields(x, fields...)
	if err != nil {
		return c, err
	}
	for _, d := range fields {
		if d.name != "budget" && d.name != "expires_at" {
			f.notNull(d.name)
		}
	}
	c.Addresses = f.addresses("addresses")
	c.ExpiresAt = f.moment("expires_at")
	c.Budget = f.budget("budget")
	if f.err == nil && c.Scopes != nil && len(*c.Scopes) == 0 {
		f.err = app.Errorf(app.Invalid, "invalid_value", "A key has at least one scope; leave scopes out for the usual ones.").At("scopes")
	}
	return c, f.err
}

// has reports whether the body has a member, and whether the member is null.
func (f *members) has(name string) (there, null bool) {
	raw, there := f.of[name]
	return there && f.err == nil, string(raw) == "null"
}

// notNull refuses a member that is null: read as if it were not there, it would leave a key wider than its maker meant.
func (f *members) notNull(name string) {
	if _, null := f.has(name); null && f.err == nil {
		f.err = app.Errorf(app.Invalid, "invalid_value", "%s cannot be null; leave it out to say nothing of it.", name).At(name)
	}
}

// addresses takes networks, or single addresses, which are networks of one.
func (f *members) addresses(name string) *[]netip.Prefix {
	var texts *[]string
	f.read(name, "an array of addresses or networks, such as 203.0.113.7 or 198.51.100.0/24", &texts)
	if f.err != nil || texts == nil {
		return nil
	}
	list := make([]netip.Prefix, 0, len(*texts))
	for _, text := range *texts {
		p, err := apikey.ParseNetwork(text)
		if err != nil {
			f.err = err
			return nil
		}
		list = append(list, p)
	}
	return &list
}

// moment takes a time in Unix seconds, or null for none.
func (f *members) moment(name string) **time.Time {
	there, null := f.has(name)
	if !there {
		return nil
	}
	var at *time.Time
	if null {
		return &at
	}
	var unix int64
	f.read(name, "Unix seconds, or null for a key that never expires", &unix)
	const farthest = 253402300799 // This is the last second of the year 9999.
	if f.err == nil && (unix < 0 || unix > farthest) {
		f.err = wrongField(name, "Unix seconds, or null for a key that never expires")
	}
	at = new(time.Unix(unix, 0).UTC())
	return &at
}

// budget takes a limit in dollars and its period, or null for none.
func (f *members) budget(name string) **billing.Allowance {
	there, null := f.has(name)
	if !there {
		return nil
	}
	var b *billing.Allowance
	if null {
		return &b
	}
	const what = `{"limit": dollars as a string, "period": "total", "day", "week" or "month"}, or null for none`
	var said struct {
		Limit  *string `json:"limit"`
		Period *string `json:"period"`
	}
	d := json.NewDecoder(strings.NewReader(string(f.of[name])))
	d.DisallowUnknownFields()
	if d.Decode(&said) != nil || said.Limit == nil || said.Period == nil {
		f.err = wrongField(name, what)
		return nil
	}
	limit, err := app.ParseAmount(*said.Limit)
	if err != nil {
		f.err = wrongField(name, what)
		return nil
	}
	b = &billing.Allowance{Limit: limit, Period: billing.Period(*said.Period)}
	return &b
}

func (a *API) createKey(x *call) error {
	c, err := a.readKey(x)
	if err != nil {
		return err
	}
	if c.Name == nil {
		return missingField("name", "name is required: what the key is for, in 1 to 80 characters.")
	}
	k, secret, err := a.o.APIKeys.Create(x.Request().Context(), x.principal(), c.Spec())
	if err != nil {
		return fieldsOfKeys(err)
	}
	return a.answerKey(x, k, secret)
}

func (a *API) showKey(x *call) error {
	k, err := a.o.APIKeys.Get(x.Request().Context(), x.principal(), x.Param("id"))
	if err != nil {
		return err
	}
	return a.answerKey(x, k, "")
}

func (a *API) updateKey(x *call) error {
	c, err := a.readKey(x)
	if err != nil {
		return err
	}
	k, err := a.o.APIKeys.Update(x.Request().Context(), x.principal(), x.Param("id"), c)
	if err != nil {
		return fieldsOfKeys(err)
	}
	return a.answerKey(x, k, "")
}

// fieldsOfKeys names fields as bodies do.
func fieldsOfKeys(err error) error {
	e := app.AsError(err)
	names := map[string]string{"env": "environment", "budget_period": "budget.period", "overlap": "overlap_seconds"}
	if name, ok := names[e.Param]; ok {
		exact := *e
		exact.Param = name
		return &exact
	}
	return err
}

func (a *API) deleteKey(x *call) error {
	id := x.Param("id")
	if err := a.o.APIKeys.Delete(x.Request().Context(), x.principal(), id); err != nil {
		return err
	}
	return a.object(x, deletedJSON{id, "api_key.deleted", true})
}

func (a *API) rotateKey(x *call) error {
	const allowed = "0, 3600, 86400 or 604800"
	var overlap int64
	if _, err := a.readFields(x, field{"overlap_seconds", allowed, &overlap}); err != nil {
		return err
	}
	if !slices.Contains(apikey.Overlaps(), time.Duration(overlap)*time.Second) {
		return wrongField("overlap_seconds", allowed)
	}
	k, secret, err := a.o.APIKeys.Rotate(x.Request().Context(), x.principal(), x.Param("id"), time.Duration(overlap)*time.Second)
	if err != nil {
		return fieldsOfKeys(err)
	}
	return a.answerKey(x, k, secret)
}

func switchKey(disabled bool) func(*API, *call) error {
	return func(a *API, x *call) error {
		if _, err := a.strict(x); err != nil {
			return err
		}
		if err := a.o.APIKeys.Disable(x.Request().Context(), x.principal(), x.Param("id"), disabled); err != nil {
			return err
		}
		return a.showKey(x)
	}
}
