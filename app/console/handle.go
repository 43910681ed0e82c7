package console

import (
	"umg/app/admission"
	"umg/app/console/page"
	"umg/app/gateway"
	"umg/app/ratelimit"
)

// serve answers a request for a route: it admits the request, opens the page and checks the reader's rights.
func (c *Console) serve(r page.Route, in page.RoutedRequest) error {
	// Pages are critical in admission control: people need them to see why calls fail.
	place := admission.Place{}
	if c.o.Gate != nil {
		var err error
		if place, err = c.o.Gate.Enter(true); err != nil {
			return err
		}
	}
	defer place.Leave()
	p, err := c.Open(in)
	if err != nil {
		return err
	}
	p.Place = &place
	if err := c.admit(p); err != nil {
		return err
	}
	if !r.Open && !p.SignedIn() {
		return p.ToSignIn()
	}
	if r.Operator && p.MustEnrol {
		return c.toEnrolment(p)
	}
	if r.Operator && !p.User.Operator {
		return page.ErrNotFound()
	}
	if p.SignedIn() && p.User.AccountID == "" && !r.Open && !r.Operator && !isUserPage(r.Path) {
		return p.Navigate(startPath) // The reader is a member of no account.
	}
	if p.SignedIn() && !p.User.Role.Rights().Has(r.Right) {
		return page.ErrRole(p.User.Role)
	}
	return r.Serve(p)
}

// admit counts a request: that of a visitor by IP address, and that of a user by user, so that an office behind one address can work.
func (c *Console) admit(p *page.Page) error {
	reads := page.IsRead(p.Request())
	switch {
	case !p.SignedIn() && reads:
		return c.o.Addresses.Count(p.RealIP(), ratelimit.Pages)
	case !p.SignedIn():
		return c.o.Addresses.Count(p.RealIP(), ratelimit.Forms)
	}
	if c.o.Gate != nil {
		if err := p.Place.Admit("person:"+p.User.ID, false, true); err != nil {
			return err
		}
	}
	work := gateway.ChangeWork
	if reads {
		work = gateway.ReadWork
	}
	return c.o.Gateway.AdmitPerson(p.User.ID, p.User.LimitFactor, work)
}
