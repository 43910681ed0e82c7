package operator

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/account"
	"umg/app/console/page"
	"umg/app/trial"
	operatorpages "umg/views/operator"
	"umg/views/ui"
)

const (
	trialsPath       = rootPath + "/trials"
	codesPath        = trialsPath + "/codes"
	codeUntilDefault = 30 // The form proposes an expiry in this many days.
)

// trials shows the policy of trials, how they went, and the promotion codes.
func (c *Console) trials(p *page.Page) error {
	ctx, cancel := context.WithTimeout(p.Request().Context(), queryTimeMax)
	defer cancel()
	t := operatorpages.Trials{Shell: c.Shell(p), Made: p.QueryParam("made")}
	report, err := c.o.Accounts.Trials().Report(ctx)
	var codes []account.Promo
	if err == nil {
		codes, err = c.o.Accounts.Promos(ctx)
	}
	if t.Failure, err = page.Unavailable(p, err); err != nil {
		return err
	}
	fillTrials(&t, report)
	for _, one := range codes {
		t.Codes = append(t.Codes, viewCode(one))
	}
	t.More = len(codes) >= account.PromosListed
	return c.Render(p, http.StatusOK, operatorpages.TrialsPage(t))
}

func fillTrials(t *operatorpages.Trials, r trial.Report) {
	t.Rules = operatorpages.TrialRules{
		Amount: r.Policy.Amount, DailyMax: r.Policy.DailyMax, Days: r.Policy.Days, Verified: r.Policy.RequireVerified,
		NetworkMax: r.Policy.NetworkDayMax, DomainMax: r.Policy.DomainDayMax,
	}
	t.Closed, t.FreeAt, t.Given, t.Count = string(r.Closed), r.FreeAt, r.Given, int64(r.Count)
	for _, d := range r.Days {
		t.Days = append(t.Days, operatorpages.TrialDay{Day: d.Day, Count: int64(d.Count), Amount: d.Amount, Paid: int64(d.Paid)})
	}
	for _, place := range r.Places {
		t.Places = append(t.Places, operatorpages.TrialPlace{
			Network: place.Network, Name: place.Name, Count: int64(place.Count), FreeAt: place.FreeAt,
		})
	}
}

func viewCode(one account.Promo) operatorpages.PromoCode {
	return operatorpages.PromoCode{
		Code: one.Code, Amount: one.Amount, Redeemed: int64(one.Redeemed), Times: int64(one.Times), Days: one.Days, Reason: one.Reason,
		By: one.CreatedBy, EndedBy: one.EndedBy, CreatedAt: one.CreatedAt, Until: one.ExpiresAt,
	}
}

// newCode shows the form for a promotion code, with a random code. Sending the form twice makes one code, because it names the code.
func (c *Console) newCode(p *page.Page) error {
	code, err := c.o.Accounts.NewPromoCode()
	if err != nil {
		return err
	}
	until := c.o.Now().UTC().AddDate(0, 0, codeUntilDefault).Format(time.DateOnly)
	return c.renderCode(p, http.StatusOK, operatorpages.CodeForm{Code: code, Until: until, Days: "0"})
}

func (c *Console) renderCode(p *page.Page, status int, f operatorpages.CodeForm) error {
	f.Shell = c.Shell(p)
	// The theme form returns to this path.
	f.Path = codesPath + "/new"
	return c.Render(p, status, operatorpages.CodeFormPage(f))
}

// makeCode makes a promotion code, or shows the form again with what is invalid.
func (c *Console) makeCode(p *page.Page) error {
	f := operatorpages.CodeForm{
		Code: p.FormValue("code"), Amount: p.FormValue("amount"), Times: p.FormValue("times"), Days: p.FormValue("days"),
		Until: p.FormValue("until"), Reason: p.FormValue("reason"),
	}
	asked, ok := readCode(&f)
	proof := c.o.Accounts.Prove(p.Request().Context(), p.Principal(), p.FormValue("current_password"))
	if refusal := app.AsError(proof); proof != nil {
		if refusal.Param != "current_password" && refusal.Kind != app.Exhausted {
			return proof
		}
		f.PasswordError, ok = refusal.Message, false
	}
	if !ok {
		return c.renderCode(p, http.StatusUnprocessableEntity, f)
	}
	asked.CreatedBy = p.User.Email
	made, err := c.o.Accounts.CreatePromo(p.Request().Context(), asked)
	if err == nil {
		return c.RedirectWithToast(p, ui.Success, "Made the code "+made.Code+".", trialsPath+"?made="+made.Code+"#codes")
	}
	refusal := app.AsError(err)
	if refusal.Kind != app.Invalid && refusal.Kind != app.Conflict {
		return err
	}
	page.PlaceRefusal(refusal, &f.Problem, map[string]*string{
		"code": &f.CodeError, "amount": &f.AmountError, "times": &f.TimesError, "days": &f.DaysError, "until": &f.UntilError,
		"reason": &f.ReasonError,
	})
	return c.renderCode(p, http.StatusUnprocessableEntity, f)
}

// readCode parses the numbers and the day of a form, and puts an error beside each that is invalid.
func readCode(f *operatorpages.CodeForm) (one account.Promo, ok bool) {
	one = account.Promo{Code: f.Code, Reason: strings.TrimSpace(f.Reason)}
	var err error
	if one.Amount, err = app.ParseAmount(strings.TrimPrefix(strings.TrimSpace(f.Amount), "$")); err != nil {
		f.AmountError = "Enter dollars, such as 10 or 2.50."
	}
	if one.Times, err = wholeNumber(f.Times); err != nil {
		f.TimesError = "Enter a whole number, such as 500."
	}
	if one.Days, err = wholeNumber(f.Days); err != nil {
		f.DaysError = "Enter a whole number of days, or 0."
	}
	last, err := time.Parse(time.DateOnly, strings.TrimSpace(f.Until))
	if err != nil {
		f.UntilError = "Enter a day, such as 2027-01-31."
	}
	one.ExpiresAt = last.AddDate(0, 0, 1) // The last day is included.
	return one, f.AmountError+f.TimesError+f.DaysError+f.UntilError == ""
}

// wholeNumber reads a number of at most 32 bits.
func wholeNumber(text string) (int, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
	return int(min(n, math.MaxInt32)), err
}

// endCodeForm is the question before a code ends.
func (c *Console) endCodeForm(p *page.Page) (operatorpages.ConfirmForm, error) {
	one, err := c.o.Accounts.FindPromo(p.Request().Context(), p.Param("code"))
	if err != nil {
		return operatorpages.ConfirmForm{}, err
	}
	v := viewCode(one)
	return operatorpages.ConfirmForm{
		Title: "End " + one.Code + " now?", Text: v.EndWords(), Back: trialsPath + "#codes", BackTitle: "Trials and codes",
		Action:  v.EndPath(),
		Buttons: []operatorpages.ConfirmButton{{Text: "End the code", Variant: ui.Destructive}},
	}, nil
}

// askEndCode asks before a code ends.
func (c *Console) askEndCode(p *page.Page) error {
	f, err := c.endCodeForm(p)
	if err != nil {
		return err
	}
	return c.showConfirm(p, http.StatusOK, f)
}

// endCode ends a code. Ending it a second time changes nothing.
func (c *Console) endCode(p *page.Page) error {
	f, err := c.endCodeForm(p)
	if err != nil {
		return err
	}
	return c.confirmed(p, f, func() (func() error, error) {
		code := p.Param("code")
		err := c.o.Accounts.EndPromo(p.Request().Context(), code, p.User.Email)
		return c.then(p, "The code "+code+" has ended.", f.Back), err
	})
}
