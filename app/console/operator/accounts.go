package operator

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"umg/app"
	"umg/app/console/page"
	"umg/app/operator"
	"umg/views"
	"umg/views/format"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

const accountsPath = rootPath + "/accounts"

// actionForm matches the id of a form for an adjustment of an account.
var actionForm = regexp.MustCompile(`^adj_[0-9a-z]{26}$`)

// accountRoutes are the operators' pages about all accounts.
func (c *Console) accountRoutes() []page.Route {
	a := page.Area{Operator: true, Missing: c.o.Actions == nil}
	routes := []page.Route{a.Get("/operator/accounts", c.accounts), a.Get("/operator/accounts/:id", c.account)}
	for _, kind := range []string{
		operatorpages.ActionAdd, operatorpages.ActionTake, operatorpages.ActionFreeze, operatorpages.ActionUnfreeze,
	} {
		path := "/operator/accounts/:id/" + kind
		routes = append(routes, a.Get(path, func(p *page.Page) error { return c.action(p, kind) }),
			a.Post(path, func(p *page.Page) error { return c.doAction(p, kind) }))
	}
	return routes
}

func (c *Console) accounts(p *page.Page) error {
	q := operatorpages.ParseAccountsQuery(p.QueryParams())
	p.ReplaceURL(q.Path())
	ctx, cancel := context.WithTimeout(p.Request().Context(), queryTimeMax)
	defer cancel()
	l := operatorpages.Accounts{Shell: c.Shell(p), Query: q}
	found, err := c.o.Actions.Accounts(ctx, operator.Query{
		Text: q.Text, State: operator.State(q.State), Sort: operator.Sort(q.Sort), After: q.After, Below: q.Below,
	})
	if l.Failure, err = page.Unavailable(p, err); err != nil {
		return err
	}
	l.More = found.More
	for i := range found.Accounts {
		v := viewAccount(&found.Accounts[i])
		if found.Spent != nil {
			v.Spent = new(found.Spent[v.ID])
		}
		l.List = append(l.List, v)
	}
	return c.Render(p, http.StatusOK, operatorpages.AccountsPage(l))
}

func viewAccount(a *operator.Account) operatorpages.Account {
	return operatorpages.Account{
		ID: a.ID, Name: a.Name, Owner: a.Owner, People: a.People, Balance: a.Balance, Owed: a.Owed, CreatedAt: a.CreatedAt,
		Paid: a.PaidAt != nil, Frozen: a.FrozenAt != nil, Uncharged: a.Uncharged, Indebted: a.Indebted, Closed: a.Closed,
		FrozenReason: a.FrozenReason,
	}
}

// account shows one account. Neither its keys nor its prompts and answers are part of it.
func (c *Console) account(p *page.Page) error {
	ctx, cancel := context.WithTimeout(p.Request().Context(), queryTimeMax)
	defer cancel()
	one, err := c.o.Actions.Account(ctx, p.Param("id"), p.User.ID)
	if err != nil {
		return err
	}
	credit, err := c.o.Actions.Credit(ctx, one.ID)
	if err != nil {
		return err
	}
	v := operatorpages.AccountDetail{
		Shell: c.Shell(p), Account: viewAccount(&one.Account), Own: one.Own, LimitFactor: one.LimitFactor, PaidAt: one.PaidAt,
		FrozenAt: one.FrozenAt, FrozenBy: one.FrozenBy, Credit: page.ViewCredit(credit), Leased: credit.Leased, Free: credit.Available(),
	}
	v.Account.Spent = one.Spent
	people, err := c.o.Actions.People(ctx, one.ID)
	if err != nil {
		return err
	}
	for _, one := range people {
		v.Members = append(v.Members, operatorpages.Person{
			ID: one.ID, Email: one.Email, Name: one.Name, Role: one.Role, Verified: one.Verified, SecondStep: one.SecondStep, Operator: one.Operator,
			Self: one.ID == p.User.ID, SignedInAt: one.SignedInAt,
		})
	}
	if err := c.fillRecords(ctx, one.ID, &v); err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, operatorpages.AccountPage(v))
}

// fillRecords fills in the latest entries of the account's ledger and audit log.
func (c *Console) fillRecords(ctx context.Context, id string, v *operatorpages.AccountDetail) error {
	entries, err := c.o.Actions.Entries(ctx, id)
	if err != nil {
		return err
	}
	for _, e := range entries {
		v.Entries = append(v.Entries, operatorpages.Entry{By: e.Operator, LedgerEntry: views.LedgerEntry{
			ID: e.ID, Transaction: e.Transaction, Kind: e.Kind, Ref: e.Ref, Reason: e.Reason, Amount: e.Amount, After: e.After, At: e.At,
		}})
	}
	history, err := c.o.Actions.History(ctx, id)
	if err != nil {
		return err
	}
	if v.Topups, err = c.topups(ctx, id); err != nil {
		return err
	}
	for _, e := range history {
		v.History = append(v.History, page.ViewAuditEntry(e))
	}
	return nil
}

// actionOf reads the account that a form is about. The forms of a deleted account do not exist.
func (c *Console) actionOf(p *page.Page, kind string) (operatorpages.AccountAction, error) {
	d := operatorpages.AccountAction{Kind: kind, Once: c.o.Actions.Once()}
	one, err := c.o.Actions.Account(p.Request().Context(), p.Param("id"), p.User.ID)
	if err != nil {
		return d, err
	}
	if one.Closed {
		return d, page.ErrNotFound()
	}
	credit, err := c.o.Actions.Credit(p.Request().Context(), one.ID)
	if err != nil {
		return d, err
	}
	d.Shell, d.Account, d.Own, d.Free = c.Shell(p), viewAccount(&one.Account), one.Own, credit.Available()
	// The theme form returns to this path.
	d.Path = accountsPath
	return d, nil
}

// isUnneeded leads to the account if an adjustment would change nothing. It reports whether it did.
func (c *Console) isUnneeded(p *page.Page, d operatorpages.AccountAction) (bool, error) {
	to := accountsPath + "/" + d.Account.ID
	switch {
	case d.Kind == operatorpages.ActionFreeze && d.Account.Frozen && !d.Account.Indebted:
		return true, c.RedirectWithToast(p, ui.Info, d.Account.Name+" is frozen already.", to)
	case d.Kind == operatorpages.ActionUnfreeze && !d.Account.Frozen:
		return true, c.RedirectWithToast(p, ui.Info, d.Account.Name+" is not frozen.", to)
	}
	return false, nil
}

// action is the form, filled in as its address says.
func (c *Console) action(p *page.Page, kind string) error {
	d, err := c.actionOf(p, kind)
	if err != nil {
		return err
	}
	if done, err := c.isUnneeded(p, d); done {
		return err
	}
	d.Amount, d.Reason = p.QueryParam("amount"), p.QueryParam("reason")
	return c.Render(p, http.StatusOK, operatorpages.AccountActionPage(d))
}

// doAction shows the result that the adjustment would have, and makes the adjustment when the operator has confirmed it by password.
func (c *Console) doAction(p *page.Page, kind string) error {
	d, err := c.actionOf(p, kind)
	if err != nil {
		return err
	}
	if done, err := c.isUnneeded(p, d); done {
		return err
	}
	d.Amount, d.Reason = strings.TrimSpace(p.FormValue("amount")), strings.TrimSpace(p.FormValue("reason"))
	adjustment := operator.Adjustment{
		Kind: operator.Kind(d.Kind), AccountID: d.Account.ID, Reason: d.Reason, Operator: p.User.Email, UserID: p.User.ID,
		From: p.Principal().From, Once: d.Once,
	}
	once := p.FormValue("once")
	sure := p.FormValue("step") == "do" && actionForm.MatchString(once)
	if !readAction(&d, &adjustment, sure) {
		return c.Render(p, http.StatusUnprocessableEntity, operatorpages.AccountActionPage(d))
	}
	d.Asks = true
	if !sure {
		return c.Render(p, http.StatusOK, operatorpages.AccountActionPage(d))
	}
	d.Once, adjustment.Once = once, once
	if err := c.o.Accounts.Prove(p.Request().Context(), p.Principal(), p.FormValue("current_password")); err != nil {
		return c.refuseAction(p, d, err)
	}
	done, err := c.o.Actions.Do(p.Request().Context(), adjustment)
	if err != nil {
		return c.refuseAction(p, d, err)
	}
	to := accountsPath + "/" + d.Account.ID
	if !done {
		return c.RedirectWithToast(p, ui.Info, "That was done already. Nothing was done a second time.", to)
	}
	return c.RedirectWithToast(p, ui.Success, doneWords(d), to)
}

// readAction parses the fields, and reports whether they are valid. For a form that may have been sent before, the amount need not be
// free any more: the operator service knows whether the adjustment was made.
func readAction(d *operatorpages.AccountAction, adjustment *operator.Adjustment, again bool) bool {
	moves := d.Kind == operatorpages.ActionAdd || d.Kind == operatorpages.ActionTake
	if moves {
		amount, err := app.ParseAmount(strings.TrimPrefix(d.Amount, "$"))
		if err != nil {
			d.AmountError = "Enter an amount in dollars, such as 25 or 0.000001."
		}
		d.Value, adjustment.Amount = amount, amount
	}
	if d.Reason == "" {
		d.ReasonError = "Give a reason: account members can read it."
	}
	err := operator.Check(*adjustment)
	switch refusal := app.AsError(err); {
	case err == nil:
	case refusal.Param == "amount" && d.AmountError == "":
		d.AmountError = refusal.Message
	case refusal.Param == "reason" && d.ReasonError == "":
		d.ReasonError = refusal.Message
	}
	if d.AmountError == "" && d.Kind == operatorpages.ActionTake && d.Value > d.Free && !again {
		d.AmountError = "Only " + format.Dollars(d.Free) + " is free now: the rest is spent or reserved by what runs."
	}
	return d.AmountError == "" && d.ReasonError == ""
}

// refuseAction shows the question again, or the form if its amount is not possible any more.
func (c *Console) refuseAction(p *page.Page, d operatorpages.AccountAction, err error) error {
	refusal := app.AsError(err)
	status := http.StatusUnprocessableEntity
	switch {
	case refusal.Param == "current_password":
		d.PasswordError = refusal.Message
	case refusal.Param == "amount":
		d.Asks, d.AmountError = false, refusal.Message
	case refusal.Kind == app.Exhausted:
		d.FormError, status = refusal.Message, http.StatusTooManyRequests
	case refusal.Kind == app.Conflict:
		d.FormError = refusal.Message
	default:
		return err
	}
	return c.Render(p, status, operatorpages.AccountActionPage(d))
}

// doneWords returns the sentence that says what was done.
func doneWords(d operatorpages.AccountAction) string {
	switch d.Kind {
	case operatorpages.ActionAdd:
		return "Added " + format.Dollars(d.Value) + " to " + d.Account.Name + "."
	case operatorpages.ActionTake:
		return "Took " + format.Dollars(d.Value) + " back from " + d.Account.Name + "."
	case operatorpages.ActionFreeze:
		return "Froze " + d.Account.Name + ". New calls are refused within a second."
	}
	return "Unfroze " + d.Account.Name + ". Its calls are taken again within a second."
}
