package page

import (
	"net/http"

	"umg/billing"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// Shell returns what surrounds a page. A balance that cannot be read is shown as unknown: the page matters more.
func (r *Renderer) Shell(p *Page) views.Shell {
	s := views.Shell{
		Path: p.Request().URL.Path, Theme: ThemeOf(p.Request()), Now: r.o.Now(), BaseURL: r.APIURL(),
		Region: p.Region(), Toasts: p.takeToast(), Mac: OnMac(p.Request()), KeysOff: cookieOf(p.Request(), ShortcutsCookie) == ShortcutsOff,
	}
	if !p.SignedIn() {
		return s
	}
	s.Zone, s.Clock = p.User.TimeZone, p.User.Clock
	s.Viewer = ViewerOf(p)
	if p.User.AccountID == "" {
		return s
	}
	s.Viewer.Account, s.Viewer.Accounts = p.User.Account, r.accounts(p)
	s.Balance = r.Balance(p)
	ctx, reader := p.Request().Context(), p.NoticeReader()
	s.Unread, s.Status = r.o.Notices.Unread(ctx, reader, s.Balance), r.o.Notices.TroubledModels(ctx, reader)
	if p.User.Frozen {
		s.Frozen = &views.Freeze{Reason: p.User.FrozenReason}
	}
	return s
}

// Region is how the reader sees numbers and days: the region that they chose, else the first of their browser.
func (p *Page) Region() format.Region {
	return format.RegionOf(p.User.Region, p.Request().Header.Get("Accept-Language"))
}

// ThemeOf returns the theme that the reader chose.
func ThemeOf(r *http.Request) ui.Theme { return ui.ParseTheme(cookieOf(r, themeCookie)) }

// ViewerOf returns the reader as the shell shows them, without their accounts.
func ViewerOf(p *Page) *views.Viewer {
	return &views.Viewer{Email: p.User.Email, Rights: p.User.Role.Rights(), Role: string(p.User.Role), Operator: p.User.Operator}
}

// accounts lists the accounts that the reader may work in. It returns none when they cannot be read.
func (r *Renderer) accounts(p *Page) []views.AccountChoice {
	list, err := r.o.Accounts.Memberships(p.Request().Context(), p.User.ID)
	if err != nil {
		return nil
	}
	choices := make([]views.AccountChoice, len(list))
	for i, m := range list {
		choices[i] = views.AccountChoice{ID: m.AccountID, Name: m.Name, Role: string(m.Role), Current: m.AccountID == p.User.AccountID}
	}
	return choices
}

// Balance returns the balance of the reader's account. It is unknown when it cannot be read.
func (r *Renderer) Balance(p *Page) views.Balance {
	b, err := r.o.Ledger.Balance(p.Request().Context(), p.User.AccountID)
	if err != nil {
		return views.Balance{Uncharged: p.User.Uncharged}
	}
	shown := views.Balance{Known: true, Available: b.Spendable(), LowAt: lowBalanceAt, Uncharged: p.User.Uncharged}
	if shown.Available <= 0 {
		before, err := r.o.Ledger.EntryList(p.Request().Context(), billing.EntryQuery{AccountID: p.User.AccountID, Limit: 1})
		shown.NeverFunded = err == nil && len(before.Entries) == 0
	}
	return shown
}

// SetToast stores one sentence in the session. The next page that the session renders shows it. The caller saves the session.
func (p *Page) SetToast(tone ui.Tone, text string) {
	p.Session.Values[toastTone], p.Session.Values[toastText] = string(tone), text
}

// takeToast returns the sentence that SetToast stored, and removes it from the session.
func (p *Page) takeToast() []ui.Toast {
	text, _ := p.Session.Values[toastText].(string)
	tone, _ := p.Session.Values[toastTone].(string)
	if text == "" {
		return nil
	}
	delete(p.Session.Values, toastText)
	delete(p.Session.Values, toastTone)
	return []ui.Toast{{Tone: ui.Tone(tone), Text: text}}
}
