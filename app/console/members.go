package console

import (
	"net/http"

	"umg/app"
	"umg/app/account"
	settingpages "umg/views/settings"
	"umg/views/ui"
)

const (
	membersPath     = settingsPath + "/members"
	membersShownMax = 100 // an account has at most as many
)

// memberRoutes are about who works in the account, and about invitations from both of their ends.
func memberRoutes() []Route {
	const (
		all    = "/settings/members"
		invite = all + "/invitations"
	)
	manage := func(method, path string, serve func(*Console, *page) error) Route {
		return Route{Method: method, Path: path, Right: app.ManageMembers, serve: serve}
	}
	return []Route{
		{Method: http.MethodGet, Path: all, serve: (*Console).members},
		{Method: http.MethodGet, Path: all + "/leave", serve: (*Console).askLeave},
		{Method: http.MethodPost, Path: all + "/leave", serve: (*Console).leaveAccount},
		manage(http.MethodPost, invite, (*Console).invite),
		manage(http.MethodPost, invite+"/:id/resend", (*Console).resendInvitation),
		manage(http.MethodPost, invite+"/:id/revoke", (*Console).revokeInvitation),
		manage(http.MethodPost, all+"/:id/role", (*Console).setRole),
		manage(http.MethodGet, all+"/:id/remove", (*Console).askRemove),
		manage(http.MethodPost, all+"/:id/remove", (*Console).removeMember),
		{Method: http.MethodGet, Path: "/invitations", Open: true, serve: (*Console).offer},
		{Method: http.MethodPost, Path: "/invitations/accept", serve: (*Console).acceptOffer},
		{Method: http.MethodPost, Path: "/invitations/decline", serve: (*Console).declineOffer},
	}
}

// viewMembers reads the page; what was just done to it comes from the caller.
func (c *Console) viewMembers(p *page) (settingpages.Members, error) {
	ctx, who := p.Request().Context(), p.principal()
	v := settingpages.Members{Shell: c.shell(p), Form: settingpages.InviteForm{Role: string(account.Developer)}}
	found, err := c.o.Accounts.Members(ctx, who, "", membersShownMax)
	if err != nil {
		return v, err
	}
	for _, m := range found.Members {
		one := viewMember(m)
		one.Self = m.UserID == p.user.ID
		one.Fixed = m.Role == account.Owner && p.user.Role != account.Owner
		v.Members = append(v.Members, one)
	}
	for _, r := range account.Roles() {
		if r != account.Owner || p.user.Role == account.Owner {
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

func (c *Console) members(p *page) error {
	v, err := c.viewMembers(p)
	if err != nil {
		return err
	}
	return c.render(p, http.StatusOK, settingpages.MembersPage(v))
}

func (c *Console) invite(p *page) error {
	form := settingpages.InviteForm{Email: p.FormValue("email"), Role: p.FormValue("role")}
	i, err := c.o.Accounts.Invite(p.Request().Context(), p.principal(), form.Email, account.Role(form.Role))
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
		return c.render(p, http.StatusUnprocessableEntity, settingpages.MembersPage(v))
	}
	return c.invited(p, i, i.Email+" is invited.")
}

// invited says that an invitation is on its way; where no mail goes out, the page shows the link.
func (c *Console) invited(p *page, i account.Invitation, said string) error {
	if i.Link == "" {
		return c.redirectWithToast(p, ui.Success, said, membersPath)
	}
	v, err := c.viewMembers(p)
	if err != nil {
		return err
	}
	v.Link, v.LinkFor = i.Link, i.Email
	return c.render(p, http.StatusOK, settingpages.MembersPage(v))
}

func (c *Console) resendInvitation(p *page) error {
	i, err := c.o.Accounts.ResendInvitation(p.Request().Context(), p.principal(), p.Param("id"))
	if err != nil {
		return c.backToMembers(p, err)
	}
	return c.invited(p, i, "A new link was sent to "+i.Email+"; the one before works no more.")
}

func (c *Console) revokeInvitation(p *page) error {
	i, err := c.o.Accounts.RevokeInvitation(p.Request().Context(), p.principal(), p.Param("id"))
	if err != nil {
		return c.backToMembers(p, err)
	}
	return c.redirectWithToast(p, ui.Success, "The invitation of "+i.Email+" was taken back.", membersPath)
}

// backToMembers tells on the page why something was not done, where that is the reader's to know.
func (c *Console) backToMembers(p *page, err error) error {
	switch refusal := app.AsError(err); refusal.Kind {
	case app.Conflict, app.Invalid, app.Exhausted:
		return c.redirectWithToast(p, ui.Warning, refusal.Message, membersPath)
	}
	return err
}

func (c *Console) setRole(p *page) error {
	m, err := c.o.Accounts.SetRole(p.Request().Context(), p.principal(), p.Param("id"), account.Role(p.FormValue("role")))
	if err != nil {
		return c.backToMembers(p, err)
	}
	return c.redirectWithToast(p, ui.Success, m.Email+" is "+string(m.Role)+" now.", membersPath)
}

func (c *Console) askRemove(p *page) error {
	m, err := c.o.Accounts.Member(p.Request().Context(), p.principal(), p.Param("id"))
	if err != nil {
		return err
	}
	return c.render(p, http.StatusOK, settingpages.MemberRemovePage(settingpages.MemberChange{Shell: c.shell(p), Member: viewMember(m)}))
}

func (c *Console) removeMember(p *page) error {
	m, err := c.o.Accounts.RemoveMember(p.Request().Context(), p.principal(), p.Param("id"))
	if err != nil {
		return c.backToMembers(p, err)
	}
	return c.redirectWithToast(p, ui.Success, m.Email+" was removed.", membersPath)
}

func (c *Console) askLeave(p *page) error {
	return c.render(p, http.StatusOK, settingpages.MemberRemovePage(settingpages.MemberChange{Shell: c.shell(p), Leave: true}))
}

func (c *Console) leaveAccount(p *page) error {
	err := c.o.Accounts.Leave(p.Request().Context(), p.principal())
	if refusal := app.AsError(err); err != nil && refusal.Kind == app.Conflict {
		v := settingpages.MemberChange{Shell: c.shell(p), Leave: true, Error: refusal.Message}
		return c.render(p, http.StatusUnprocessableEntity, settingpages.MemberRemovePage(v))
	}
	if err != nil {
		return err
	}
	delete(p.session.Values, accountValue)
	return c.redirectWithToast(p, ui.Success, "You left "+p.user.Account+".", consolePath)
}

// offer shows where the link of an invitation leads, to the user who opens it.
func (c *Console) offer(p *page) error {
	token := p.QueryParam("token")
	found, err := c.o.Accounts.Offer(p.Request().Context(), token)
	v := settingpages.Offer{Shell: c.shell(p), Token: token}
	if refusal := app.AsError(err); err != nil && (refusal.Kind == app.Conflict || refusal.Kind == app.NotFound) {
		v.Problem = refusal.Message
		return c.render(p, http.StatusNotFound, settingpages.OfferPage(v))
	}
	if err != nil {
		return err
	}
	v.Account, v.Email = found.Account, found.Email
	v.Role = settingpages.RoleChoice{Role: string(found.Role), Meaning: found.Role.Meaning()}
	v.Wrong = p.signedIn() && p.user.Email != found.Email
	return c.render(p, http.StatusOK, settingpages.OfferPage(v))
}

// backToOffer shows why an invitation was not answered, on its own page.
func (c *Console) backToOffer(p *page, err error) error {
	refusal := app.AsError(err)
	switch refusal.Kind {
	case app.Conflict, app.NotFound, app.Forbidden:
		return c.render(p, http.StatusUnprocessableEntity, settingpages.OfferPage(settingpages.Offer{Shell: c.shell(p),
			Problem: refusal.Message}))
	}
	return err
}

func (c *Console) acceptOffer(p *page) error {
	m, err := c.o.Accounts.Accept(p.Request().Context(), p.principal(), p.FormValue("token"))
	if err != nil {
		return c.backToOffer(p, err)
	}
	// The session is renewed, as its user has more rights now; the first proof of an address has even ended it.
	user, err := c.o.Accounts.User(p.Request().Context(), p.user.ID)
	if err != nil {
		return err
	}
	if err := c.o.Sessions.Start(p.Response(), p.Request(), user); err != nil {
		return err
	}
	return c.work(p, m, "You are "+string(m.Role)+" of "+m.Name+" now.")
}

func (c *Console) declineOffer(p *page) error {
	o, err := c.o.Accounts.Decline(p.Request().Context(), p.principal(), p.FormValue("token"))
	if err != nil {
		return c.backToOffer(p, err)
	}
	return c.redirectWithToast(p, ui.Success, "You declined to join "+o.Account+".", consolePath)
}
