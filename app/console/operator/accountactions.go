package operator

import (
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/console/page"
	"umg/app/operator"
	"umg/billing/stripe"
	"umg/views"
	"umg/views/format"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

const (
	topupsShown    = 20
	reasonCharsMax = 500
	factorCharsMax = 7
	amountCharsMax = 24
)

// refundForm matches the name under which a refund is made once.
var refundForm = regexp.MustCompile(`^rfd_[0-9a-z]{26}$`)

// accountActionRoutes are the operators' changes of an account's limits, of its payments and of its people.
func (c *Console) accountActionRoutes() []page.Route {
	a := page.Area{Operator: true, Missing: c.o.Actions == nil}
	paid := page.Area{Operator: true, Missing: c.o.Actions == nil || c.o.Payments == nil}
	const one, person = "/operator/accounts/:id/", "/operator/accounts/:id/people/:user/"
	return []page.Route{
		a.Get(one+"limits", c.askLimits), a.Post(one+"limits", c.setLimits),
		paid.Get(one+"refund", c.askRefund), paid.Post(one+"refund", c.refund),
		a.Get(person+"reset-link", c.askPerson(operatorpages.ActionReset)), a.Post(person+"reset-link", c.makeResetLink),
		a.Get(person+"disable-mfa", c.askPerson(operatorpages.ActionDisableMFA)), a.Post(person+"disable-mfa", c.disableMFA),
		a.Get(person+"operator", c.askPerson(operatorpages.ActionOperator)), a.Post(person+"operator", c.makeOperator),
	}
}

// changeable reads an account that can still be changed. Deleted ones cannot.
func (c *Console) changeable(p *page.Page) (operator.AccountDetail, error) {
	one, err := c.o.Actions.Account(p.Request().Context(), p.Param("id"), p.User.ID)
	if err == nil && one.Closed {
		err = page.ErrNotFound()
	}
	return one, err
}

// operatorFor is the principal of an operator who changes an account.
func operatorFor(p *page.Page, accountID string) app.Principal {
	return app.Principal{AccountID: accountID, From: p.Principal().From}
}

func accountForm(one operator.AccountDetail, kind string) operatorpages.ConfirmForm {
	to := accountsPath + "/" + one.ID
	return operatorpages.ConfirmForm{
		Back: to, BackTitle: "Account", Action: to + "/" + kind, Own: one.Own,
		Facts: []operatorpages.ConfirmFact{{Name: "Account", Value: one.Name}, {Name: "Id", Value: one.ID}},
	}
}

func limitsForm(one operator.AccountDetail, factor string) operatorpages.ConfirmForm {
	f := accountForm(one, operatorpages.ActionLimits)
	f.Title = "Set the limits of " + one.Name
	f.Text = "Every replica multiplies the usual limits for requests, tokens and concurrent calls by this number within a second."
	f.Facts = append(f.Facts, operatorpages.ConfirmFact{Name: "Multiplier now", Value: strconv.Itoa(one.LimitFactor) + "×"})
	f.Fields = []operatorpages.ConfirmField{factorField(factor)}
	f.Buttons = []operatorpages.ConfirmButton{{Text: "Set limits", Icon: ui.IconSliders, Variant: ui.Primary}}
	return f
}

func factorField(factor string) operatorpages.ConfirmField {
	f := operatorpages.ConfirmField{
		Name: "factor", Label: "Multiplier", Value: factor, Hint: "A whole number. 1 is the usual limit.", CharsMax: factorCharsMax,
		InputMode: "numeric",
	}
	return f
}

// readFactor parses the multiplier, and places an error beside its field.
func readFactor(f *operatorpages.ConfirmForm, text string) int {
	n, err := wholeNumber(text)
	if err != nil {
		f.PlaceError("factor", "Enter a whole number, such as 4.")
	}
	return n
}

func (c *Console) askLimits(p *page.Page) error {
	one, err := c.changeable(p)
	if err != nil {
		return err
	}
	return c.showConfirm(p, http.StatusOK, limitsForm(one, strconv.Itoa(one.LimitFactor)))
}

// setLimits does what the command “account set-limit-multiplier” does. Doing it twice changes nothing more.
func (c *Console) setLimits(p *page.Page) error {
	one, err := c.changeable(p)
	if err != nil {
		return err
	}
	f := limitsForm(one, p.FormValue("factor"))
	factor := readFactor(&f, p.FormValue("factor"))
	return c.confirmed(p, f, func() (func() error, error) {
		err := c.o.Accounts.SetLimitFactor(p.Request().Context(), operatorFor(p, one.ID), factor)
		return c.then(p, "The limits of "+one.Name+" are now "+strconv.Itoa(factor)+"× the usual.", f.Back), err
	})
}

// then leads to a page with a sentence that says what was done.
func (c *Console) then(p *page.Page, said, to string) func() error {
	return func() error { return c.RedirectWithToast(p, ui.Success, said, to) }
}

// topups are the latest purchases of an account, where credit can be bought.
func (c *Console) topups(ctx context.Context, accountID string) (list []operatorpages.Topup, err error) {
	if c.o.Payments == nil || !c.o.Payments.Enabled() {
		return nil, nil
	}
	found, err := c.o.Payments.Topups(ctx, accountID, topupsShown)
	for _, t := range found {
		list = append(list, viewTopup(t))
	}
	return list, err
}

var topupStates = map[stripe.State]views.Badge{
	stripe.Created: {Tone: ui.Plain, Text: "Waiting"}, stripe.Open: {Tone: ui.Plain, Text: "Waiting"},
	stripe.Paid: {Tone: ui.Success, Text: "Paid"}, stripe.Won: {Tone: ui.Success, Text: "Dispute won"},
	stripe.PartlyRefunded: {Tone: ui.Info, Text: "Partly refunded"}, stripe.Refunded: {Tone: ui.Info, Text: "Refunded"},
	stripe.Expired: {Tone: ui.Plain, Text: "Expired"}, stripe.Failed: {Tone: ui.Danger, Text: "Failed"},
	stripe.Disputed: {Tone: ui.Warning, Text: "Disputed"}, stripe.Lost: {Tone: ui.Danger, Text: "Dispute lost"},
}

func viewTopup(t stripe.Topup) operatorpages.Topup {
	refundable := t.State == stripe.Paid || t.State == stripe.PartlyRefunded || t.State == stripe.Won
	return operatorpages.Topup{
		ID: t.ID, Amount: app.Amount(t.Cents) * app.Cent, Refunded: app.Amount(t.RefundedCents) * app.Cent, State: topupStates[t.State],
		Auto: t.Auto, CreatedAt: t.CreatedAt, Refundable: refundable && t.RefundedCents < t.Cents,
	}
}

// refundOf is the form for one top-up of the account. Other top-ups do not exist for it.
func (c *Console) refundOf(p *page.Page, topupID, once string) (f operatorpages.ConfirmForm, err error) {
	one, err := c.changeable(p)
	if err != nil {
		return f, err
	}
	t, err := c.o.Payments.Topup(p.Request().Context(), one.ID, topupID)
	if err != nil {
		return f, err
	}
	v := viewTopup(t)
	f = accountForm(one, operatorpages.ActionRefund)
	f.Title = "Refund a top-up of " + one.Name
	f.Text = "The payment service returns the money to the card, and the credit is taken from the balance. " +
		"If the credit is spent, the account owes the rest."
	f.Facts = append(f.Facts, operatorpages.ConfirmFact{Name: "Top-up", Value: t.ID},
		operatorpages.ConfirmFact{Name: "Paid", Value: format.Dollars(v.Amount)},
		operatorpages.ConfirmFact{Name: "Refunded so far", Value: format.Dollars(v.Refunded)})
	f.Hidden = []operatorpages.HiddenField{{Name: "topup", Value: t.ID}, {Name: "once", Value: once}}
	f.Fields = []operatorpages.ConfirmField{
		{Name: "amount", Label: "Amount", Hint: "Dollars, in whole cents. At most " + format.Dollars(v.Amount-v.Refunded) + " is left.",
			CharsMax: amountCharsMax, InputMode: "decimal"},
		{Name: "reason", Label: "Reason", Hint: "Visible to account members in the audit log.", Long: true, CharsMax: reasonCharsMax},
	}
	f.Buttons = []operatorpages.ConfirmButton{{Text: "Refund", Icon: ui.IconReceipt, Variant: ui.Destructive}}
	return f, nil
}

func (c *Console) askRefund(p *page.Page) error {
	f, err := c.refundOf(p, p.QueryParam("topup"), c.o.Payments.NewRefund())
	if err != nil {
		return err
	}
	return c.showConfirm(p, http.StatusOK, f)
}

// refund does what the command “credit refund” does, once for each form.
func (c *Console) refund(p *page.Page) error {
	once := p.FormValue("once")
	if !refundForm.MatchString(once) {
		once = c.o.Payments.NewRefund()
	}
	f, err := c.refundOf(p, p.FormValue("topup"), once)
	if err != nil {
		return err
	}
	typed, reason := strings.TrimSpace(p.FormValue("amount")), strings.TrimSpace(p.FormValue("reason"))
	f.Fields[0].Value, f.Fields[1].Value = typed, reason
	amount, err := app.ParseAmount(strings.TrimPrefix(typed, "$"))
	if err != nil || amount <= 0 || amount%app.Cent != 0 {
		f.PlaceError("amount", "Enter an amount in dollars and whole cents, such as 25 or 2.50.")
	}
	if reason == "" {
		f.PlaceError("reason", "Give a reason: account members can read it.")
	}
	return c.confirmed(p, f, func() (func() error, error) {
		t, err := c.o.Payments.Refund(p.Request().Context(), stripe.RefundRequest{
			TopupID: p.FormValue("topup"), Cents: int64(amount / app.Cent), Operator: p.User.Email, Reason: reason,
			From: p.Principal().From, Once: once,
		})
		said := "Refunded. " + format.Dollars(app.Amount(t.RefundedCents)*app.Cent) + " of this top-up went back to the card."
		return c.then(p, said, f.Back+"#topups"), err
	})
}

// personForms are the sentences of what operators do for a member of an account. The name of the person follows the title.
var personForms = map[string]struct {
	title, text string
	button      operatorpages.ConfirmButton
}{
	operatorpages.ActionReset: {
		"Make a link to set a new password", "The person who opens the link chooses a new password, once, within an hour. " +
			"Their sign-in codes stay on.",
		operatorpages.ConfirmButton{Text: "Make the link", Icon: ui.IconKey, Variant: ui.Primary},
	},
	operatorpages.ActionDisableMFA: {
		"Turn off sign-in codes", "The password alone then signs this person in. Their sessions end, and we notify them by mail.",
		operatorpages.ConfirmButton{Text: "Turn off codes", Variant: ui.Destructive},
	},
	operatorpages.ActionOperator: {
		"Make an operator", "This person can then read all accounts, and change providers, prices and credit.",
		operatorpages.ConfirmButton{Text: "Make operator", Variant: ui.Destructive},
	},
}

// personForm is the form about one member of an account.
func (c *Console) personForm(p *page.Page, kind string) (f operatorpages.ConfirmForm, who operator.Person, err error) {
	one, err := c.changeable(p)
	if err != nil {
		return f, who, err
	}
	people, err := c.o.Actions.People(p.Request().Context(), one.ID)
	if err != nil {
		return f, who, err
	}
	for _, who := range people {
		if who.ID != p.Param("user") {
			continue
		}
		words := personForms[kind]
		f = accountForm(one, "people/"+who.ID+"/"+kind)
		f.Title, f.Text, f.Buttons = words.title+": "+who.Email, words.text, []operatorpages.ConfirmButton{words.button}
		f.Facts = []operatorpages.ConfirmFact{{Name: "Person", Value: who.Email}, {Name: "Account", Value: one.Name}}
		return f, who, nil
	}
	return f, who, page.ErrNotFound()
}

func (c *Console) askPerson(kind string) page.Handler {
	return func(p *page.Page) error {
		f, _, err := c.personForm(p, kind)
		if err != nil {
			return err
		}
		return c.showConfirm(p, http.StatusOK, f)
	}
}

// makeResetLink does what the command “operator reset-link” does, and shows the link once.
func (c *Console) makeResetLink(p *page.Page) error {
	f, who, err := c.personForm(p, operatorpages.ActionReset)
	if err != nil {
		return err
	}
	return c.confirmed(p, f, func() (func() error, error) {
		path, err := c.o.Accounts.MakeResetLink(p.Request().Context(), p.Principal().From, who.Email)
		return func() error {
			v := operatorpages.ResetLink{Shell: c.Shell(p), Email: who.Email, URL: c.BaseURL() + path, Back: f.Back}
			v.Path = f.Back
			return c.Render(p, http.StatusOK, operatorpages.ResetLinkPage(v))
		}, err
	})
}

// disableMFA does what the command “operator disable-mfa” does.
func (c *Console) disableMFA(p *page.Page) error {
	f, who, err := c.personForm(p, operatorpages.ActionDisableMFA)
	if err != nil {
		return err
	}
	return c.confirmed(p, f, func() (func() error, error) {
		err := c.o.Accounts.RemoveTOTP(p.Request().Context(), who.Email)
		return c.then(p, who.Email+" signs in with the password alone.", f.Back), err
	})
}

// makeOperator does what the command “operator add” does. Doing it twice changes nothing more.
func (c *Console) makeOperator(p *page.Page) error {
	f, who, err := c.personForm(p, operatorpages.ActionOperator)
	if err != nil {
		return err
	}
	return c.confirmed(p, f, func() (func() error, error) {
		err := c.o.Accounts.MakeOperator(p.Request().Context(), p.Principal().From, who.Email)
		return c.then(p, who.Email+" is an operator.", f.Back), err
	})
}
