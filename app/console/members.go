package console

import (
	"net/http"

	"umg/app"
	"umg/app/account"
	"umg/app/console/page"
	settingpages "umg/views/settings"
	"umg/views/ui"
)

const (
	membersPath     = settingsPath + "/members"
	membersShownMax = 100 // No account can have more members.
)

// memberRoutes are the pages about the members of an account, and about invitations for those who send and who receive them.
func (c *Console) memberRoutes() []page.Route {
	const (
		all    = "/settings/members"
		invite = all + "/invitations"
	)
	manage := page.Area{Right: app.ManageMembers}
	return []page.Route{
		page.Area{}.Get(all, c.members), page.Area{}.Get(all+"/leave", c.askLeave), page.Area{}.Post(all+"/leave", c.leaveAccount),
		manage.Post(invite, c.invite),
		manage.Post(invite+"/:id/resend", c.resendInvitation), manage.Post(invite+"/:id/revoke", c.revokeInvitation),
		manage.Post(all+"/:id/role", c.setRole), manage.Get(all+"/:id/remove", c.askRemove), manage.Post(all+"/:id/remove", c.removeMember),
		page.Area{Open: true}.Get("/invitations", c.offer),
		page.Area{}.Post("/invitations/accept", c.acceptOffer), page.Area{}.Post("/invitations/decline", c.declineOffer),
	}
}

// viewMembers reads the members and invitations of the account.
func (c *Console) viewMembers(p *page.Page) (settingpages.Members, error) {
	ctx, who := p.Request().Context(), p.Principal()
	v := settingpages.Members{Shell: c.Shell(p), Form: settingpages.InviteForm{Role: string(app.RoleDeveloper)}}
	found, err := c.o.Accounts.Members(ctx, who, "", membersShownMax)
	if err != nil {
		return v, err
	}
	for _, m := range found.Members {
		one := viewMember(m)
		one.Self = m.UserID == p.User.ID
		one.Fixed = m.Role == app.RoleOwner && p.User.Role != app.RoleOwner
		v.Members = append(v.Members, one)
	}
	for _, r := range app.Roles() {
		if r != app.RoleOwner || p.User.Role == app.RoleOwner {
			v.Roles = append(v.Roles, settingpages.RoleChoice{Role: string(r), Meaning: r.Meaning()})
		}
	}
	if !v.MayManage() {
		return v, nil
	}
	list, err := c.o.Accounts.Invitations(ctx, who, "", membersShownMax)
	for _, i := range list.Invitations {
		v.Invitations = append(v.Invitations, settingpages.Invitation{
			ID: i.ID, Email: i.Email, Role: string(i.Role), InvitedBy: i.InvitedBy, SentAt: i.SentAt, ExpiresAt: i.ExpiresAt,
		})
	}
	return v, err
}

func viewMember(m account.Member) settingpages.Member {
	return settingpages.Member{
		ID: m.UserID, Email: m.Email, Name: m.Name, Role: string(m.Role), JoinedAt: m.JoinedAt, TwoFactor: m.TwoFactor,
	}
}

func (c *Console) members(p *page.Page) error {
	v, err := c.viewMembers(p)
	return page.Show(c.Renderer, p, http.StatusOK, settingpages.MembersPage, v, err)
}

func (c *Console) invite(p *page.Page) error {
	form := settingpages.InviteForm{Email: p.FormValue("email"), Role: p.FormValue("role")}
	i, err := c.o.Accounts.Invite(p.Request().Context(), p.Principal(), form.Email, app.Role(form.Role))
	if err != nil {
		refusal := app.AsError(err)
		switch {
		case refusal.Param == "email":
			form.EmailError = refusal.Message
		case refusal.Param == "role":
			form.RoleError = refusal.Message
		case refusal.Kind == app.Conflict || refusal.Kind == app.Exhausted || refusal.Kind == app.Forbidden || refusal.Kind == app.Invalid:
			form.FormError = refusal.Message
		default:
			return err
		}
		v, err := c.viewMembers(p)
		if err != nil {
			return err
		}
		v.Form = form
		return c.Render(p, http.StatusUnprocessableEntity, settingpages.MembersPage(v))
	}
	return c.invited(p, i, i.Email+" is invited.")
}

// invited leads back to the page after an invitation was sent. On servers without mail the page shows the link of the invitation.
func (c *Console) invited(p *page.Page, i account.Invitation, said string) error {
	if i.Link == "" {
		return c.RedirectWithToast(p, ui.Success, said, membersPath)
	}
	v, err := c.viewMembers(p)
	if err != nil {
		return err
	}
	v.Link, v.LinkFor = i.Link, i.Email
	return c.Render(p, http.StatusOK, settingpages.MembersPage(v))
}

func (c *Console) resendInvitation(p *page.Page) error {
	i, err := c.o.Accounts.ResendInvitation(p.Request().Context(), p.Principal(), p.Param("id"))
	if err != nil {
		return c.backToMembers(p, err, "")
	}
	return c.invited(p, i, "A new link was sent to "+i.Email+"; the one before works no more.")
}

func (c *Console) revokeInvitation(p *page.Page) error {
	i, err := c.o.Accounts.RevokeInvitation(p.Request().Context(), p.Principal(), p.Param("id"))
	return c.backToMembers(p, err, "The invitation of "+i.Email+" was taken back.")
}

// backToMembers leads to the page with a sentence that says what was changed, or why the change was rejected.
func (c *Console) backToMembers(p *page.Page, err error, done string) error {
	switch app.KindOf(err) {
	case app.Conflict, app.Invalid, app.Exhausted:
		return c.RedirectWithToast(p, ui.Warning, app.AsError(err).Message, membersPath)
	}
	return c.Done(p, err, done, membersPath)
}

func (c *Console) setRole(p *page.Page) error {
	m, err := c.o.Accounts.SetRole(p.Request().Context(), p.Principal(), p.Param("id"), app.Role(p.FormValue("role")))
	return c.backToMembers(p, err, m.Email+" is "+string(m.Role)+" now.")
}

func (c *Console) askRemove(p *page.Page) error {
	m, err := c.o.Accounts.Member(p.Request().Context(), p.Principal(), p.Param("id"))
	if err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, settingpages.MemberRemovePage(settingpages.MemberChange{Shell: c.Shell(p), Member: viewMember(m)}))
}

func (c *Console) removeMember(p *page.Page) error {
	m, err := c.o.Accounts.RemoveMember(p.Request().Context(), p.Principal(), p.Param("id"))
	return c.backToMembers(p, err, m.Email+" was removed.")
}

func (c *Console) askLeave(p *page.Page) error {
	return c.Render(p, http.StatusOK, settingpages.MemberRemovePage(settingpages.MemberChange{Shell: c.Shell(p), Leave: true}))
}

func (c *Console) leaveAccount(p *page.Page) error {
	err := c.o.Accounts.Leave(p.Request().Context(), p.Principal())
	if refusal := app.AsError(err); err != nil && refusal.Kind == app.Conflict {
		v := settingpages.MemberChange{Shell: c.Shell(p), Leave: true, Error: refusal.Message}
		return c.Render(p, http.StatusUnprocessableEntity, settingpages.MemberRemovePage(v))
	}
	if err != nil {
		return err
	}
	delete(p.Session.Values, page.AccountValue)
	return c.RedirectWithToast(p, ui.Success, "You left "+p.User.Account+".", page.ConsolePath)
}

// offer shows where the link of an invitation leads, to the user who opens it.
func (c *Console) offer(p *page.Page) error {
	token := p.QueryParam("token")
	found, err := c.o.Accounts.Offer(p.Request().Context(), token)
	v := settingpages.Offer{Shell: c.Shell(p), Token: token}
	if refusal := app.AsError(err); err != nil && (refusal.Kind == app.Conflict || refusal.Kind == app.NotFound) {
		v.Problem = refusal.Message
		return c.Render(p, http.StatusNotFound, settingpages.OfferPage(v))
	}
	if err != nil {
		return err
	}
	v.Account, v.Email = found.Account, found.Email
	v.Role = settingpages.RoleChoice{Role: string(found.Role), Meaning: found.Role.Meaning()}
	v.Wrong = p.SignedIn() && p.User.Email != found.Email
	return c.Render(p, http.StatusOK, settingpages.OfferPage(v))
}

// backToOffer shows why an invitation was not answered, on its own page.
func (c *Console) backToOffer(p *page.Page, err error) error {
	refusal := app.AsError(err)
	switch refusal.Kind {
	case app.Conflict, app.NotFound, app.Forbidden:
		offer := settingpages.Offer{Shell: c.Shell(p), Problem: refusal.Message}
		return c.Render(p, http.StatusUnprocessableEntity, settingpages.OfferPage(offer))
	}
	return err
}

func (c *Console) acceptOffer(p *page.Page) error {
	m, err := c.o.Accounts.Accept(p.Request().Context(), p.Principal(), p.FormValue("token"))
	if err != nil {
		return c.backToOffer(p, err)
	}
	// The session is renewed, as its user has more rights now; the first proof of an address has even ended it.
	user, err := c.o.Accounts.User(p.Request().Context(), p.User.ID)
	if err != nil {
		return err
	}
	if err := c.o.Sessions.Start(p.Response(), p.Request(), user); err != nil {
		return err
	}
	return c.work(p, m, "You are "+string(m.Role)+" of "+m.Name+" now.")
}

func (c *Console) declineOffer(p *page.Page) error {
	o, err := c.o.Accounts.Decline(p.Request().Context(), p.Principal(), p.FormValue("token"))
	if err != nil {
		return c.backToOffer(p, err)
	}
	return c.RedirectWithToast(p, ui.Success, "You declined to join "+o.Account+".", page.ConsolePath)
}
