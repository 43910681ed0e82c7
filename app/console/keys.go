package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/llm"
	"umg/billing"
	"umg/views"
	"umg/views/ui"
)

const (
	keysPath    = consolePath + "/keys"
	lately      = 24 * time.Hour // a key used since is in use
	maskEllipse = "…"
)

func (c *Console) keys(p *page) error {
	keys, err := c.listKeys(p)
	if err != nil {
		return err
	}
	return c.render(p, http.StatusOK, views.KeysPage(views.Keys{Shell: c.shell(p), Keys: keys}))
}

func (c *Console) listKeys(p *page) ([]views.Key, error) {
	found, err := c.o.Accounts.Keys(p.Request().Context(), p.principal())
	if err != nil {
		return nil, err
	}
	keys := make([]views.Key, len(found))
	for i, k := range found {
		keys[i] = viewKey(k)
	}
	return keys, c.fillBudgets(p, keys, found)
}

// fillBudgets adds to the keys that have a budget how far it is spent.
func (c *Console) fillBudgets(p *page, keys []views.Key, found []account.Key) error {
	if !slices.ContainsFunc(found, func(k account.Key) bool { return k.BudgetID != "" }) {
		return nil
	}
	budgets, err := c.o.Ledger.Budgets(p.Request().Context(), p.user.AccountID)
	if err != nil {
		return err
	}
	for i := range keys {
		if b, found := budgets[keys[i].ID]; found {
			keys[i].Budget = &views.KeyBudget{
				Limit: b.Limit, Spent: b.Spent, Left: b.Left, Period: string(b.Period), ResetsAt: b.ResetsAt,
			}
		}
	}
	return nil
}

func viewKey(k account.Key) views.Key {
	return views.Key{
		ID: k.ID, Name: k.Name, Masked: k.Prefix + maskEllipse + k.LastFour, Env: k.Env, ErrorMode: string(k.ErrorMode), Disabled: k.Disabled,
		CreatedAt: k.CreatedAt, CreatedBy: k.CreatedBy, LastUsed: k.LastUsedAt, ExpiresAt: k.ExpiresAt,
	}
}

func (c *Console) newKey(p *page) error {
	return c.render(p, http.StatusOK, views.KeyNewPage(views.KeyNew{Shell: c.shell(p), Form: views.NewKeyForm()}))
}

// createKey answers with the secret itself instead of leading to another page: it is shown once and kept nowhere.
func (c *Console) createKey(p *page) error {
	form := views.KeyForm{Name: p.FormValue("name"), Env: p.FormValue("env"), Mode: p.FormValue("mode"), Budget: budgetForm(p)}
	fromOverview := p.FormValue("from") == "overview"
	budget, err := readBudget(form.Budget)
	var key account.Key
	var secret string
	if err == nil {
		key, secret, err = c.o.Accounts.CreateKey(p.Request().Context(), p.principal(), account.KeySpec{
			Name: form.Name, Env: form.Env, ErrorMode: account.ErrorMode(form.Mode), Budget: budget,
		})
	}
	if err != nil {
		if err := explainKey(&form, err); err != nil {
			return err
		}
		if fromOverview {
			return c.renderOverview(p, http.StatusUnprocessableEntity, form, nil)
		}
		return c.render(p, http.StatusUnprocessableEntity, views.KeyNewPage(views.KeyNew{Shell: c.shell(p), Form: form}))
	}
	fresh := views.FreshKey{Key: viewKey(key), Secret: secret}
	if fromOverview {
		return c.renderOverview(p, http.StatusOK, views.NewKeyForm(), &fresh)
	}
	keys, err := c.listKeys(p)
	if err != nil {
		return err
	}
	return c.render(p, http.StatusOK, views.KeyCreatedPage(views.KeyCreated{
		Shell: c.shell(p), Fresh: fresh, Call: c.sampleCall(secret), Language: language(p), Keys: keys,
	}))
}

// explainKey puts a refusal beside the field it concerns; other faults come back as they are.
func explainKey(form *views.KeyForm, err error) error {
	refusal := app.AsError(err)
	switch {
	case refusal.Kind != app.Invalid && refusal.Kind != app.Conflict:
		return err
	case refusal.Param == "name":
		form.NameError = refusal.Message
	case refusal.Param == "env":
		form.EnvError = refusal.Message
	case refusal.Param == "error_mode":
		form.ModeError = refusal.Message
	case explainBudget(&form.Budget, refusal):
	default:
		form.FormError = refusal.Message
	}
	return nil
}

// sampleCall is the cheapest way to try the API: the model with the lowest price for a word out.
func (c *Console) sampleCall(secret string) views.Call {
	call := views.Call{BaseURL: c.apiURL(), Key: secret}
	if m, ok := c.o.Catalog.Snapshot().Cheapest(llm.Chat); ok {
		call.Model = m.ID
	}
	return call
}

func language(p *page) string {
	cookie, err := p.Cookie(languageCookie)
	if err != nil {
		return ""
	}
	return cookie.Value
}

func (c *Console) disableKey(p *page) error {
	return c.switchKey(p, true, "Key disabled. Programs that use it are refused.")
}

func (c *Console) enableKey(p *page) error { return c.switchKey(p, false, "Key enabled.") }

func (c *Console) switchKey(p *page, disabled bool, done string) error {
	if err := c.o.Accounts.DisableKey(p.Request().Context(), p.principal(), p.Param("id"), disabled); err != nil {
		return err
	}
	return c.say(p, ui.Success, done, keysPath)
}

// budgetForm is what was typed about a budget. Forms without these fields have none.
func budgetForm(p *page) views.BudgetForm {
	return views.BudgetForm{Limit: p.FormValue("budget"), Period: cmp.Or(p.FormValue("budget_period"), string(billing.EachMonth))}
}

// readBudget reads dollars as people write them. An empty field is no budget.
func readBudget(f views.BudgetForm) (*account.Budget, error) {
	text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(f.Limit), "$"))
	if text == "" {
		return nil, nil
	}
	limit, err := app.ParseAmount(text)
	if err != nil {
		return nil, app.Errorf(app.Invalid, "invalid_value",
			"Write dollars with a point and at most 9 decimals, such as 25 or 0.5, or leave the field empty.").At("budget").Because(err)
	}
	return &account.Budget{Limit: limit, Period: billing.Period(f.Period)}, nil
}

// explainBudget puts a refusal beside the field of a budget it concerns, and says whether it concerns one.
func explainBudget(f *views.BudgetForm, refusal *app.Error) bool {
	switch refusal.Param {
	case "budget":
		f.LimitError = refusal.Message
	case "budget_period":
		f.PeriodError = refusal.Message
	default:
		return false
	}
	return true
}

// ownKey is the key that the path names, among the account's own.
func (c *Console) ownKey(p *page) (views.Key, error) {
	keys, err := c.listKeys(p)
	if err != nil {
		return views.Key{}, err
	}
	at := slices.IndexFunc(keys, func(k views.Key) bool { return k.ID == p.Param("id") })
	if at < 0 {
		return views.Key{}, app.Errorf(app.NotFound, "key_not_found", "There is no such key.")
	}
	return keys[at], nil
}

func (c *Console) askBudget(p *page) error {
	k, err := c.ownKey(p)
	if err != nil {
		return err
	}
	form := views.NewKeyForm().Budget
	if k.Budget != nil {
		form = views.BudgetForm{Limit: k.Budget.Limit.String(), Period: k.Budget.Period}
	}
	return c.render(p, http.StatusOK, views.KeyBudgetPage(views.KeyBudgetEdit{Shell: c.shell(p), Key: k, Form: form}))
}

func (c *Console) setBudget(p *page) error {
	k, err := c.ownKey(p)
	if err != nil {
		return err
	}
	form := budgetForm(p)
	budget, err := readBudget(form)
	if err == nil {
		err = c.o.Accounts.SetKeyBudget(p.Request().Context(), p.principal(), k.ID, budget)
	}
	if refusal := app.AsError(err); err != nil && refusal.Kind != app.Invalid && refusal.Kind != app.Conflict {
		return err
	} else if err != nil {
		if !explainBudget(&form, refusal) {
			form.FormError = refusal.Message
		}
		return c.render(p, http.StatusUnprocessableEntity, views.KeyBudgetPage(views.KeyBudgetEdit{Shell: c.shell(p), Key: k, Form: form}))
	}
	if budget == nil {
		return c.say(p, ui.Success, k.Name+" has no budget: only your credit limits it.", keysPath)
	}
	return c.say(p, ui.Success, k.Name+" has a budget of "+views.Dollars(budget.Limit)+".", keysPath)
}

// deletion finds the key that the page is about among the account's own.
func (c *Console) deletion(p *page) (views.KeyDelete, error) {
	k, err := c.ownKey(p)
	if err != nil {
		return views.KeyDelete{}, err
	}
	inUse := k.LastUsed != nil && c.o.Now().Sub(*k.LastUsed) < lately
	return views.KeyDelete{Shell: c.shell(p), Key: k, TypeName: inUse}, nil
}

func (c *Console) askDeleteKey(p *page) error {
	d, err := c.deletion(p)
	if err != nil {
		return err
	}
	return c.render(p, http.StatusOK, views.KeyDeletePage(d))
}

// sameAsShown compares a typed name with a key's the way a browser shows it: blanks in a row are one.
func sameAsShown(typed, name string) bool {
	return strings.Join(strings.Fields(typed), " ") == strings.Join(strings.Fields(name), " ")
}

func (c *Console) deleteKey(p *page) error {
	d, err := c.deletion(p)
	if err != nil {
		return err
	}
	if d.TypeName && !sameAsShown(p.FormValue("name"), d.Key.Name) {
		d.NameError = "Type the name exactly as it is shown: " + d.Key.Name
		return c.render(p, http.StatusUnprocessableEntity, views.KeyDeletePage(d))
	}
	if err := c.o.Accounts.DeleteKey(p.Request().Context(), p.principal(), d.Key.ID); err != nil {
		return err
	}
	return c.say(p, ui.Success, d.Key.Name+" was deleted.", keysPath)
}
