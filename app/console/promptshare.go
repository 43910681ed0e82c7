package console

import (
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"umg/app"
	"umg/app/console/page"
	"umg/app/console/playground"
	"umg/app/prompt"
	playpages "umg/views/playground"
)

const sharedPath = page.ConsolePath + "/shared"

func viewShare(s prompt.Share) playpages.PromptShare {
	return playpages.PromptShare{
		ID: s.ID, Number: s.Number, Author: s.Author, CreatedAt: s.CreatedAt, ExpiresAt: s.ExpiresAt, ViewedAt: s.ViewedAt,
	}
}

// promptShares returns the links of a prompt that have not ended.
func (c *Console) promptShares(p *page.Page, id string) (list []playpages.PromptShare, err error) {
	shares, err := c.o.Prompts.Shares(p.Request().Context(), p.Principal(), id)
	for _, s := range shares {
		list = append(list, viewShare(s))
	}
	return list, err
}

func (c *Console) askSharePrompt(p *page.Page) error {
	d, _, err := c.promptDetail(p, p.QueryParam("version"))
	if err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, playpages.PromptSharePage(playpages.PromptShareForm{
		Shell: d.Shell, Prompt: d.Prompt, Number: d.Version.Number, End: playpages.ShareWeek,
	}))
}

// sharePrompt answers with the link itself instead of leading to another page: it is shown once.
func (c *Console) sharePrompt(p *page.Page) error {
	d, _, err := c.promptDetail(p, p.FormValue("version"))
	if err != nil {
		return err
	}
	f := playpages.PromptShareForm{
		Shell: d.Shell, Prompt: d.Prompt, Number: d.Version.Number, End: p.FormValue("end"), Until: p.FormValue("until"),
	}
	until, err := shareEnd(f.End, f.Until, c.o.Now())
	var made prompt.Share
	var token string
	if err == nil {
		made, token, err = c.o.Prompts.Share(p.Request().Context(), p.Principal(), d.Prompt.ID, f.Number, until)
	}
	if refusal := app.AsError(err); refusal != nil {
		switch {
		case refusal.Param == "until":
			f.End, f.UntilError = playpages.ShareDate, refusal.Message
		case refusal.Kind == app.Conflict || refusal.Kind == app.Invalid:
			f.FormError = refusal.Message
		default:
			return err
		}
		return c.Render(p, http.StatusUnprocessableEntity, playpages.PromptSharePage(f))
	}
	if d.Shares, err = c.promptShares(p, d.Prompt.ID); err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, playpages.PromptSharedPage(playpages.PromptShared{
		PromptDetail: d, Link: c.o.BaseURL + sharedPath + "/" + token, Share: viewShare(made),
	}))
}

// shareEnd returns when a link ends: after a number of days, or at the end of a day.
func shareEnd(end, day string, now time.Time) (time.Time, error) {
	switch end {
	case playpages.ShareDay, playpages.ShareWeek, playpages.ShareMonth:
		days, err := strconv.Atoi(end)
		return now.AddDate(0, 0, days), err
	case playpages.ShareDate:
		last, err := time.Parse(time.DateOnly, day)
		if err != nil {
			return last, app.Errorf(app.Invalid, "invalid_value", "Enter the last day as year-month-day, such as %s.",
				now.UTC().AddDate(0, 1, 0).Format(time.DateOnly)).At("until").Because(err)
		}
		return last.AddDate(0, 0, 1), nil
	}
	return now, app.Errorf(app.Invalid, "invalid_value", "Choose how long the link works.").At("end")
}

func (c *Console) revokeShare(p *page.Page) error {
	id := p.Param("id")
	err := c.o.Prompts.Revoke(p.Request().Context(), p.Principal(), id, p.Param("share"))
	return c.Done(p, err, "The link is revoked. It shows nothing any more.", promptsPath+"/"+id)
}

// sharedPrompt reads the prompt that the link of the path shows. Search engines must not index such a page, and other sites must not
// learn its address, because the address is enough to read it.
func (c *Console) sharedPrompt(p *page.Page, referrer string) (playpages.SharedPrompt, prompt.Content, error) {
	h := p.Response().Header()
	h.Set("X-Robots-Tag", "noindex, nofollow, noarchive")
	h.Set("Referrer-Policy", referrer)
	if !c.readers.enter(p.RealIP(), c.o.Now()) {
		return playpages.SharedPrompt{}, prompt.Content{}, app.Errorf(app.Exhausted, "too_many_requests",
			"Too many shared pages were opened from this address.").After(sharedWindow)
	}
	token := p.Param("token")
	found, err := c.o.Prompts.Open(p.Request().Context(), token)
	return playpages.SharedPrompt{
		Shell: c.Shell(p), Name: found.Name, Content: viewContent(&found.Content), ExpiresAt: found.ExpiresAt, Path: sharedPath + "/" + token,
	}, found.Content, err
}

func (c *Console) shared(p *page.Page) error {
	v, _, err := c.sharedPrompt(p, "no-referrer")
	if app.AsError(err) != nil && app.KindOf(err) == app.NotFound {
		return c.Render(p, http.StatusNotFound, playpages.SharedGonePage(c.Shell(p)))
	}
	return page.Show(c.Renderer, p, http.StatusOK, playpages.SharedPromptPage, v, err)
}

// askCopyShared keeps the usual policy about referrers: browsers tell a form's origin only under it.
func (c *Console) askCopyShared(p *page.Page) error {
	v, _, err := c.sharedPrompt(p, "same-origin")
	if err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, playpages.SharedCopyPage(v, ""))
}

func (c *Console) copyShared(p *page.Page) error {
	v, content, err := c.sharedPrompt(p, "same-origin")
	if err != nil {
		return err
	}
	v.Name = p.FormValue("name")
	made, err := c.o.Prompts.Create(p.Request().Context(), p.Principal(), v.Name, content)
	if refusal := app.AsError(err); refusal != nil && (refusal.Kind == app.Invalid || refusal.Kind == app.Conflict) {
		return c.Render(p, http.StatusUnprocessableEntity, playpages.SharedCopyPage(v, refusal.Message))
	}
	return c.Done(p, err, made.Name+" is yours now.", playground.Path+"?prompt="+made.ID)
}

// These limits bound how often shared pages may be opened on this replica.
const (
	sharedWindow       = time.Minute
	sharedOfAddressMax = 120
	sharedAddressesMax = 10_000 // Each of these addresses has its own counter. All other addresses share one.
	ipv6HouseholdBits  = 64
)

// sharedReaders counts the requests for shared pages by address, in windows of a minute.
type sharedReaders struct {
	mu    sync.Mutex
	since time.Time
	count map[string]int
}

// enter reports whether one more page may be opened from an address.
func (r *sharedReaders) enter(address string, now time.Time) bool {
	if ip, err := netip.ParseAddr(address); err == nil && ip.Is6() && !ip.Is4In6() {
		if household, err := ip.WithZone("").Prefix(ipv6HouseholdBits); err == nil {
			address = household.String()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if passed := now.Sub(r.since); passed >= sharedWindow || passed < 0 {
		r.since = now
		clear(r.count)
	}
	if _, known := r.count[address]; !known && len(r.count) >= sharedAddressesMax {
		address = ""
	}
	r.count[address]++
	return r.count[address] <= sharedOfAddressMax
}
