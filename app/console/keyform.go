package console

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/apikey"
	"umg/app/console/page"
	"umg/billing"
	"umg/views"
	keypages "umg/views/keys"
)

const (
	addressLinesMax = 200      // A form may have more lines than a key may have networks.
	expiryDaysMax   = 10 * 366 // A key may expire in at most ten years.
	oneDay          = 24 * time.Hour
)

// keyChoices are the scopes, models and other values that the reader can choose for a key.
func (c *Console) keyChoices(p *page.Page) keypages.Choices {
	choices := keypages.Choices{Address: p.RealIP(), Management: p.User.Role.Rights().Has(app.ManageMembers)}
	for _, s := range app.Scopes() {
		if s != app.ScopeManagement {
			choices.Scopes = append(choices.Scopes, keypages.ScopeChoice{Value: string(s), Text: s.Meaning(), Spends: s.ExcludedByManagement()})
		}
	}
	for _, m := range c.catalogFor(p).Models() {
		choices.Models = append(choices.Models, m.ID)
	}
	slices.Sort(choices.Models)
	choices.Content = c.contentChoice(p)
	return choices
}

// readKeyForm reads the form of a key. It returns the form to show again, with errors beside the fields that cannot be parsed, and the
// spec that the form asks for. A form without scopes asks for the standard ones.
func (c *Console) readKeyForm(p *page.Page, manages bool) (keypages.Form, apikey.Spec) {
	f := keypages.Form{
		Choices: c.keyChoices(p), Name: p.FormValue("name"), Env: p.FormValue("env"), Mode: p.FormValue("mode"),
		Limits:     keypages.LimitForm{Requests: p.FormValue("requests"), Tokens: p.FormValue("tokens"), Concurrency: p.FormValue("concurrency")},
		Networks:   keypages.NetworkForm{Lines: p.FormValue("addresses")},
		Expiry:     keypages.ExpiryForm{Choice: cmp.Or(p.FormValue("expiry"), keypages.ExpiryNever), Day: p.FormValue("expiry_day")},
		LogContent: p.FormValue("log_content") == "true", Strict: p.FormValue("strict") == "true",
		Budget: keypages.BudgetForm{Limit: p.FormValue("budget"), Period: cmp.Or(p.FormValue("budget_period"), string(billing.EachMonth))},
	}
	values, _ := p.FormParams() // A body that cannot be parsed has no fields, and the missing name is refused.
	f.Scopes, f.Models = values["scopes"], values["models"]
	if _, asked := values["kind"]; !asked && !manages && len(f.Scopes) == 0 && p.Param("id") == "" {
		f.Scopes = words(app.StandardScopes())
	}
	if manages {
		f.Kind = views.ScopeManagement
	}
	limits := &f.Limits
	spec := apikey.Spec{
		Name: f.Name, Env: f.Env, ErrorMode: apikey.ErrorMode(f.Mode), LogContent: f.LogContent, Strict: f.Strict, Scopes: readScopes(&f),
		RequestsPerMinute: readCount(limits.Requests, &limits.RequestsError), TokensPerMinute: readCount(limits.Tokens, &limits.TokensError),
		Concurrency: int(min(readCount(limits.Concurrency, &limits.ConcurrencyError), 1<<30)), Addresses: readAddresses(&f),
		ExpiresAt: c.readExpiry(&f),
	}
	if !manages {
		spec.Models, spec.Budget, spec.BudgetAlerts = f.Models, readBudget(&f.Budget), readAlerts(&f.Budget, values["budget_alerts"])
	}
	return f, spec
}

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, w := range list {
		out[i] = string(w)
	}
	return out
}

// readScopes returns the scopes that were ticked. Scopes that a management key cannot have are left out of its form.
func readScopes(f *keypages.Form) (list []app.Scope) {
	if f.Kind == views.ScopeManagement {
		list = append(list, app.ScopeManagement)
	}
	for _, s := range f.Scopes {
		switch scope := app.Scope(s); {
		case scope == app.ScopeManagement:
		case f.Kind == views.ScopeManagement && scope.ExcludedByManagement():
		default:
			list = append(list, scope)
		}
	}
	if len(list) == 0 {
		f.ScopesError = "Choose at least one, or the key can do nothing."
	}
	return list
}

// readCount parses a whole number, with or without thousands separators. An empty field is zero.
func readCount(text string, wrong *string) int64 {
	text = strings.ReplaceAll(strings.TrimSpace(text), ",", "")
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil || n == 0 {
		*wrong = "Write a whole number from 1, such as 600, or leave the field empty."
		return 0
	}
	return int64(n)
}

// readAddresses reads one address or network a line.
func readAddresses(f *keypages.Form) (list []netip.Prefix) {
	lines := strings.Split(f.Networks.Lines, "\n")
	if len(lines) > addressLinesMax {
		f.Networks.Error = fmt.Sprintf("Write at most %d lines.", addressLinesMax)
		return nil
	}
	for i, line := range lines {
		line = strings.Trim(line, " \t\r,;")
		if line == "" {
			continue
		}
		prefix, err := apikey.ParseNetwork(line)
		if err != nil {
			f.Networks.Error = fmt.Sprintf("Line %d: “%.60s” is no address. Write one such as 203.0.113.7 or 2001:db8::/32.", i+1, line)
			return nil
		}
		list = append(list, prefix)
	}
	return list
}

// readExpiry returns the end of the day that was chosen, in UTC, or nil for never.
func (c *Console) readExpiry(f *keypages.Form) *time.Time {
	var last time.Time
	switch f.Expiry.Choice {
	case keypages.ExpiryNever:
		return nil
	case keypages.ExpiryOn:
		var err error
		if last, err = time.Parse(keypages.DayLayout, strings.TrimSpace(f.Expiry.Day)); err != nil {
			f.Expiry.Error = "Choose a day, such as 2027-03-31."
			return nil
		}
	default:
		days, err := strconv.Atoi(f.Expiry.Choice)
		if err != nil || days < 1 || days > expiryDaysMax {
			f.Expiry.Choice, f.Expiry.Error = keypages.ExpiryOn, "Choose one of the times above, or a day."
			return nil
		}
		last = c.o.Now().UTC().Truncate(oneDay).AddDate(0, 0, days)
	}
	return new(last.Add(oneDay))
}

// sameExpiry reports whether the form leaves the expiry unchanged. An expiry with a time of day then keeps that time.
func sameExpiry(f keypages.Form, k views.Key) bool {
	if k.ExpiresAt == nil {
		return f.Expiry.Choice == keypages.ExpiryNever
	}
	return f.Expiry.Choice == keypages.ExpiryOn && f.Expiry.Day == keypages.DayOf(*k.ExpiresAt)
}

// addAddress adds the address of the reader to the list, if the reader pressed that button. It reports whether they did.
func addAddress(p *page.Page, f *keypages.Form) bool {
	if p.FormValue("add_address") == "" {
		return false
	}
	f.ForgetErrors()
	f.Networks.Lines = strings.TrimLeft(strings.TrimRight(f.Networks.Lines, " \t\r\n")+"\n"+f.Choices.Address, "\n")
	f.Networks.Added = true
	return true
}

// explainKey puts a refusal beside the field that it is about. It returns all other errors.
func explainKey(form *keypages.Form, err error) error {
	refusal := app.AsError(err)
	if refusal.Kind != app.Invalid && refusal.Kind != app.Conflict && refusal.Code != "email_unverified" {
		return err
	}
	page.PlaceRefusal(refusal, &form.FormError, map[string]*string{
		"name": &form.NameError, "env": &form.EnvError, "error_mode": &form.ModeError, "scopes": &form.ScopesError, "models": &form.ModelsError,
		"requests_per_minute": &form.Limits.RequestsError, "tokens_per_minute": &form.Limits.TokensError,
		"concurrency": &form.Limits.ConcurrencyError, "addresses": &form.Networks.Error, "expires_at": &form.Expiry.Error,
		"budget": &form.Budget.LimitError, "budget_period": &form.Budget.PeriodError, "budget_alerts": &form.Budget.AlertsError,
	})
	return nil
}

// readAlerts returns the shares of the budget that were ticked. A form without shares asks for the standard ones, for which it returns nil.
func readAlerts(f *keypages.BudgetForm, ticked []string) []int {
	if ticked == nil {
		for _, share := range apikey.StandardBudgetAlerts() {
			f.Alerts = append(f.Alerts, strconv.Itoa(share))
		}
		return nil
	}
	list := []int{}
	for _, text := range ticked {
		if text == "" {
			continue
		}
		share, err := strconv.Atoi(text)
		if err != nil {
			f.AlertsError = "Choose among the shares above."
			return list
		}
		f.Alerts, list = append(f.Alerts, text), append(list, share)
	}
	return list
}

// readBudget parses the amount of a budget in dollars. An empty field is no budget.
func readBudget(f *keypages.BudgetForm) *billing.Allowance {
	text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(f.Limit), "$"))
	if text == "" {
		return nil
	}
	limit, err := app.ParseAmount(text)
	if err != nil {
		f.LimitError = "Write dollars with a point and at most 9 decimals, such as 25 or 0.5, or leave the field empty."
		return nil
	}
	return &billing.Allowance{Limit: limit, Period: billing.Period(f.Period)}
}
