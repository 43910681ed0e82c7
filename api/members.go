package api

import (
	"net/http"

	"umg/app"
	"umg/app/account"
)

func hasAccounts(o *Options) bool { return o.Accounts != nil }

// memberRoutes are an extension: who works in the account, who was asked to, and the account itself, for keys that manage
// it. Owners are made and removed, and accounts deleted, by owners in the console only.
func memberRoutes() []Route {
	const (
		members     = "/v1/members"
		invitations = "/v1/invitations"
		self        = "/v1/account"
	)
	people, settings := group{app.ManageMembers, hasAccounts}, group{app.ManageAccount, hasAccounts}
	return []Route{
		people.get(members, (*API).listMembers),
		people.get(members+"/:id", (*API).getMember),
		people.post(members+"/:id", (*API).setRole),
		people.delete(members+"/:id", (*API).removeMember),
		people.get(invitations, (*API).listInvitations),
		people.post(invitations, (*API).invite),
		people.get(invitations+"/:id", (*API).getInvitation),
		people.delete(invitations+"/:id", (*API).revokeInvitation),
		people.post(invitations+"/:id/resend", (*API).resendInvitation),
		settings.get(self, (*API).getAccount),
		settings.post(self, (*API).renameAccount),
		settings.get(self+"/export", (*API).exportAccount),
	}
}

type memberJSON struct {
	ID        string   `json:"id"`
	Object    string   `json:"object"`
	Email     string   `json:"email"`
	Name      string   `json:"name"`
	Role      app.Role `json:"role"`
	JoinedAt  int64    `json:"joined_at"`
	TwoFactor bool     `json:"two_factor"`
}

func memberBody(m account.Member) memberJSON {
	return memberJSON{m.UserID, "account_member", m.Email, m.Name, m.Role, m.JoinedAt.Unix(), m.TwoFactor}
}

func (a *API) listMembers(x *call) error {
	limit, err := x.pageSize()
	if err != nil {
		return err
	}
	page, err := a.o.Accounts.Members(x.Request().Context(), x.principal(), x.QueryParam("after"), limit)
	if err != nil {
		return err
	}
	return a.object(x, listBody(page.Members, page.More, func(m account.Member) string { return m.UserID }, memberBody))
}

func (a *API) getMember(x *call) error {
	m, err := a.o.Accounts.Member(x.Request().Context(), x.principal(), x.Param("id"))
	return reply(a, x, m, err, memberBody)
}

func roleField(role *app.Role) field { return field{"role", "one of the roles", role} }

func errNoRole() error {
	return missingField("role", "role is required: owner, admin, developer or billing.")
}

func (a *API) setRole(x *call) error {
	var role app.Role
	if _, err := a.readFields(x, roleField(&role)); err != nil {
		return err
	}
	if role == "" {
		return errNoRole()
	}
	m, err := a.o.Accounts.SetRole(x.Request().Context(), x.principal(), x.Param("id"), role)
	return reply(a, x, m, err, memberBody)
}

func (a *API) removeMember(x *call) error {
	m, err := a.o.Accounts.RemoveMember(x.Request().Context(), x.principal(), x.Param("id"))
	return reply(a, x, m, err, func(m account.Member) deletedJSON { return deletedJSON{m.UserID, "account_member.deleted", true} })
}

type invitationJSON struct {
	ID        string   `json:"id"`
	Object    string   `json:"object"`
	Email     string   `json:"email"`
	Role      app.Role `json:"role"`
	InvitedBy *string  `json:"invited_by"`
	CreatedAt int64    `json:"created_at"`
	SentAt    int64    `json:"sent_at"`
	ExpiresAt int64    `json:"expires_at"`
	Link      string   `json:"link,omitempty"` // Link is for the inviter to pass on if the server sends no mail.
}

func invitationBody(i account.Invitation) invitationJSON {
	return invitationJSON{
		i.ID, "account_invitation", i.Email, i.Role, orNull(i.InvitedBy), i.CreatedAt.Unix(), i.SentAt.Unix(), i.ExpiresAt.Unix(), i.Link,
	}
}

func (a *API) listInvitations(x *call) error {
	limit, err := x.pageSize()
	if err != nil {
		return err
	}
	page, err := a.o.Accounts.Invitations(x.Request().Context(), x.principal(), x.QueryParam("after"), limit)
	if err != nil {
		return err
	}
	return a.object(x, listBody(page.Invitations, page.More, func(i account.Invitation) string { return i.ID }, invitationBody))
}

func (a *API) invite(x *call) error {
	var email string
	var role app.Role
	if _, err := a.readFields(x, field{"email", "a string", &email}, roleField(&role)); err != nil {
		return err
	}
	switch {
	case email == "":
		return missingField("email", "email is required: the address of whom you invite.")
	case role == "":
		return errNoRole()
	}
	i, err := a.o.Accounts.Invite(x.Request().Context(), x.principal(), email, role)
	return reply(a, x, i, err, invitationBody)
}

func (a *API) getInvitation(x *call) error {
	i, err := a.o.Accounts.Invitation(x.Request().Context(), x.principal(), x.Param("id"))
	return reply(a, x, i, err, invitationBody)
}

func (a *API) revokeInvitation(x *call) error {
	i, err := a.o.Accounts.RevokeInvitation(x.Request().Context(), x.principal(), x.Param("id"))
	return reply(a, x, i, err, func(i account.Invitation) deletedJSON { return deletedJSON{i.ID, "account_invitation.deleted", true} })
}

func (a *API) resendInvitation(x *call) error {
	if _, err := a.strict(x); err != nil {
		return err
	}
	i, err := a.o.Accounts.ResendInvitation(x.Request().Context(), x.principal(), x.Param("id"))
	return reply(a, x, i, err, invitationBody)
}

type accountJSON struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Name        string `json:"name"`
	CreatedAt   int64  `json:"created_at"`
	Members     int    `json:"members"`
	Owners      int    `json:"owners"`
	LimitFactor int    `json:"limit_factor"`
	Frozen      bool   `json:"frozen"`
}

func (a *API) getAccount(x *call) error {
	one, err := a.o.Accounts.Account(x.Request().Context(), x.principal())
	if err != nil {
		return err
	}
	return a.object(x, accountJSON{
		one.ID, "account", one.Name, one.CreatedAt.Unix(), one.Members, one.Owners, one.LimitFactor, one.Frozen,
	})
}

func (a *API) renameAccount(x *call) error {
	var name *string
	if _, err := a.readFields(x, field{"name", "a string", &name}); err != nil {
		return err
	}
	if name == nil {
		return missingField("name", "name is required: what the account is called, in 1 to 80 characters.")
	}
	if err := a.o.Accounts.RenameAccount(x.Request().Context(), x.principal(), *name); err != nil {
		return err
	}
	return a.getAccount(x)
}

// exportAccount streams everything the account has as one JSON document.
func (a *API) exportAccount(x *call) error {
	e, err := a.o.Accounts.Export(x.Request().Context(), x.principal())
	if err != nil {
		return err
	}
	h := x.Header()
	h.Set("Content-Type", jsonType)
	h.Set("Content-Disposition", `attachment; filename="`+e.Name+`"`)
	x.Response().WriteHeader(http.StatusOK)
	return e.WriteTo(x.Request().Context(), &deadlineWriter{x.Response(), a.now})
}

// deadlineWriter gives each piece of a long answer the time that any piece has.
type deadlineWriter struct {
	to  http.ResponseWriter
	now app.Clock
}

// Write passes a piece on.
func (w *deadlineWriter) Write(p []byte) (int, error) {
	extendWrite(w.to, w.now())
	return w.to.Write(p)
}
