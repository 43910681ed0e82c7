package account

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/mail"
	"umg/app/postgres"
)

const (
	invitationAgeMax  = 7 * 24 * time.Hour
	invitationKeptMax = 30 * 24 * time.Hour // An expired invitation is kept for this long, so that a late reader learns why the link fails.
	invitationsMax    = 50                  // This limits the open invitations of an account.
	invitationPath    = "/console/invitations?token="
)

// These limits bound how often people are invited, so that no mailbox is flooded and no account becomes a sender of mail.
var (
	inviteEmail   = rule{scope: "invite_email", free: 3, first: time.Minute, most: 6 * time.Hour, window: 24 * time.Hour}
	inviteAccount = rule{scope: "invite_account", free: 100, first: time.Minute, most: time.Hour, window: 24 * time.Hour}
)

// Invitation is a person who was asked to join an account and has not answered yet.
type Invitation struct {
	ID        string    `db:"id"`
	Email     string    `db:"email"`
	Role      app.Role  `db:"role"`
	InvitedBy string    `db:"invited_by"` // InvitedBy is an e-mail address. It is empty when a key invited.
	CreatedAt time.Time `db:"created_at"`
	SentAt    time.Time `db:"sent_at"`
	ExpiresAt time.Time `db:"expires_at"`
	// Link is set only in the answer that creates the invitation, and only when the server sends no mail. The inviter passes it on.
	Link string
}

// Invitations is a page of them, newest first.
type Invitations struct {
	Invitations []Invitation
	More        bool
}

// InvitationPreview is an invitation as the invited person sees it.
type InvitationPreview struct {
	Invitation
	AccountID string
	Account   string
}

func invitationNotFound() error {
	return app.Errorf(app.NotFound, "invitation_not_found", "There is no such invitation, or it was answered already.")
}

// Invitations lists the account's open invitations. After is the id of the one before the page.
func (s *Service) Invitations(ctx context.Context, p app.Principal, after string, limit int) (Invitations, error) {
	limit = pageOf(limit)
	if after != "" && !app.IsID("inv", after) {
		return Invitations{}, app.InvalidValue("after", "after must be the id of an invitation, such as the last_id of the page before.")
	}
	rows, err := invitationsOf(ctx, s.db, p.AccountID, after, limit+1)
	if err != nil {
		return Invitations{}, postgres.StoreError("account: list invitations", err)
	}
	page := Invitations{More: len(rows) > limit}
	for _, r := range rows[:min(len(rows), limit)] {
		page.Invitations = append(page.Invitations, r.Invitation)
	}
	return page, nil
}

// Invitation returns one of the account's open invitations.
func (s *Service) Invitation(ctx context.Context, p app.Principal, id string) (Invitation, error) {
	if !app.ValidID(id) {
		return Invitation{}, invitationNotFound()
	}
	r, err := openInvitation(ctx, s.db, p.AccountID, id)
	if errors.Is(err, sql.ErrNoRows) {
		return Invitation{}, invitationNotFound()
	}
	return r.Invitation, postgres.StoreError("account: read invitation", err)
}

// Invite asks the owner of an address to join the account. An open invitation of that address is replaced.
func (s *Service) Invite(ctx context.Context, p app.Principal, email string, role app.Role) (i Invitation, err error) {
	address, err := normaliseEmail(email)
	if err != nil {
		return Invitation{}, err
	}
	if err := checkRole(role); err != nil {
		return Invitation{}, err
	}
	if err := s.throttle.admit(ctx, inviteEmail.of(address), inviteAccount.of(p.AccountID)); err != nil {
		return Invitation{}, postgres.StoreError("account: count invitations", err)
	}
	now := s.o.Now().UTC()
	i = Invitation{
		ID: s.o.IDs.New("inv"), Email: address, Role: role, CreatedAt: now, SentAt: now, ExpiresAt: now.Add(invitationAgeMax),
	}
	err = s.manage(ctx, p, app.ManageMembers, func(d memberChange) error {
		if err := s.needsVerified(ctx, d.tx, p.UserID, "invite people"); err != nil {
			return err
		}
		if err := s.mayInvite(ctx, d, address, role, now); err != nil {
			return err
		}
		token, f, err := s.newToken()
		if err != nil {
			return err
		}
		if err := insertInvitation(ctx, d.tx, p.AccountID, p.UserID, i, f); err != nil {
			return err
		}
		if i, err = s.deliver(ctx, d, i.ID, token); err != nil {
			return err
		}
		return s.audit.Write(ctx, d.tx, p, audit.Event{Action: "member.invited", Object: i.ID, Name: address,
			Changes: []audit.Change{{Field: "role", To: string(role)}}})
	})
	return i, postgres.StoreError("account: invite", err)
}

// mayInvite refuses who cannot be invited, and makes room for a new invitation of the address.
func (s *Service) mayInvite(ctx context.Context, d memberChange, address string, role app.Role, now time.Time) error {
	if err := d.may(role); err != nil {
		return err
	}
	member, err := postgres.Get[bool](ctx, d.tx, `
		select exists(select from memberships m join users u on u.id = m.user_id where m.account_id = $1 and u.email = $2)`,
		d.p.AccountID, address)
	if err != nil {
		return err
	}
	if member {
		return app.Errorf(app.Conflict, "already_member",
			"%q is the address of a member of this account already. Change their role instead.", address).At("email")
	}
	if err := postgres.Exec(ctx, d.tx, `
		update invitations set ended = 'replaced', ended_at = $3 where account_id = $1 and email = $2 and ended is null`,
		d.p.AccountID, address, now); err != nil {
		return err
	}
	open, err := postgres.Get[int](ctx, d.tx, `select count(*) from invitations where account_id = $1 and ended is null`, d.p.AccountID)
	if err == nil && open >= invitationsMax {
		return app.Errorf(app.Conflict, "too_many_invitations",
			"An account has at most %d open invitations. Revoke one that is no longer needed.", invitationsMax)
	}
	return err
}

// ResendInvitation sends another link, good for as long as a new invitation. The link of before ends.
func (s *Service) ResendInvitation(ctx context.Context, p app.Principal, id string) (i Invitation, err error) {
	if i, err = s.Invitation(ctx, p, id); err != nil {
		return Invitation{}, err
	}
	if err := s.throttle.admit(ctx, inviteEmail.of(i.Email), inviteAccount.of(p.AccountID)); err != nil {
		return Invitation{}, postgres.StoreError("account: count invitations", err)
	}
	now := s.o.Now().UTC()
	err = s.manage(ctx, p, app.ManageMembers, func(d memberChange) error {
		if err := d.may(i.Role); err != nil {
			return err
		}
		token, f, err := s.newToken()
		if err != nil {
			return err
		}
		if err := postgres.Exec(ctx, d.tx, `
			update invitations set token_hash = $3, sent_at = $4, expires_at = $5 where account_id = $1 and id = $2 and ended is null`,
			p.AccountID, id, f[:], now, now.Add(invitationAgeMax)); err != nil {
			return err
		}
		if i, err = s.deliver(ctx, d, id, token); err != nil {
			return err
		}
		return s.audit.Write(ctx, d.tx, p, audit.Event{Action: "member.invited", Object: id, Name: i.Email,
			Changes: []audit.Change{{Field: "role", To: string(i.Role)}}})
	})
	return i, postgres.StoreError("account: resend invitation", err)
}

// RevokeInvitation ends an invitation: its link leads nowhere any more.
func (s *Service) RevokeInvitation(ctx context.Context, p app.Principal, id string) (i Invitation, err error) {
	if !app.ValidID(id) {
		return Invitation{}, invitationNotFound()
	}
	err = s.manage(ctx, p, app.ManageMembers, func(d memberChange) error {
		r, err := openInvitation(ctx, d.tx, p.AccountID, id)
		if errors.Is(err, sql.ErrNoRows) {
			return invitationNotFound()
		} else if err != nil {
			return err
		}
		i = r.Invitation
		if err := d.may(i.Role); err != nil {
			return err
		}
		if _, err := endInvitation(ctx, d.tx, p.AccountID, id, "revoked", s.o.Now().UTC()); err != nil {
			return err
		}
		return s.audit.Write(ctx, d.tx, p, audit.Event{Action: "invitation.revoked", Object: id, Name: i.Email})
	})
	return i, postgres.StoreError("account: revoke invitation", err)
}

// deliver sends the link in the transaction of the invitation. Without mail it returns the link to the inviter.
func (s *Service) deliver(ctx context.Context, d memberChange, id, token string) (Invitation, error) {
	r, err := openInvitation(ctx, d.tx, d.p.AccountID, id)
	if errors.Is(err, sql.ErrNoRows) {
		return Invitation{}, invitationNotFound()
	} else if err != nil {
		return Invitation{}, err
	}
	link := s.o.BaseURL + invitationPath + token
	if s.o.Mail == nil {
		r.Link = link
		return r.Invitation, nil
	}
	m, err := inviteLetter(r, link).To(r.Email, inviteSubject, "invitation")
	if err != nil {
		return Invitation{}, err
	}
	return r.Invitation, s.o.Mail.Send(ctx, d.tx, m)
}

const inviteSubject = "You are invited to an account"

func inviteLetter(r inviteRow, link string) mail.Template {
	who := "A key of its owners"
	if r.InvitedBy != "" {
		who = mail.ShowAddress(r.InvitedBy)
	}
	return mail.Template{
		Title: inviteSubject,
		Paragraphs: []string{
			fmt.Sprintf("%s invites you to an account of the Unified Model Gateway, as %s. Its people call the account %s.",
				who, r.Role, mail.Quote(r.Account)),
			mail.WrittenBy("the people of that account"),
			fmt.Sprintf("In it you may use: %s.", r.Role.Meaning()),
		},
		Action: mail.Action{Label: "Look at the invitation", URL: link},
		Footer: "The link works for 7 days, and only for " + r.Email + ". If you do not know who that is, ignore this message: " +
			"without the link nothing happens.",
	}
}

// Offer looks at the invitation of a link without answering it.
func (s *Service) Offer(ctx context.Context, token string) (InvitationPreview, error) {
	r, err := s.inviteRow(ctx, s.db, token)
	if err != nil {
		return InvitationPreview{}, postgres.StoreError("account: read invitation", err)
	}
	return InvitationPreview{Invitation: r.Invitation, AccountID: r.AccountID, Account: r.Account}, r.refuse(s.o.Now())
}

func errInvitationUnknown() error {
	return app.Errorf(app.NotFound, "invitation_unknown",
		"This link is not complete, or a newer one was sent instead. Copy it whole from the latest mail, or ask to be invited again.")
}

func (s *Service) inviteRow(ctx context.Context, q postgres.Queryer, token string) (inviteRow, error) {
	f, err := linkFingerprint(token)
	if err != nil {
		return inviteRow{}, errInvitationUnknown()
	}
	// The holder of the link may see the invitation, and learns which account it is for.
	r, err := postgres.Get[inviteRow](ctx, q, `select `+inviteColumns+inviteFrom+`where i.token_hash = $1`, f[:])
	if errors.Is(err, sql.ErrNoRows) {
		return inviteRow{}, errInvitationUnknown()
	}
	return r, err
}

// refuse says why an invitation cannot be answered any more, if it cannot.
func (r inviteRow) refuse(now time.Time) error {
	ended := ""
	if r.Ended != nil {
		ended = *r.Ended
	}
	switch {
	case ended == "accepted":
		return app.Errorf(app.Conflict, "invitation_used", "This invitation was accepted already. There is nothing left to do.")
	case ended == "declined":
		return app.Errorf(app.Conflict, "invitation_declined", "This invitation was declined. Ask to be invited again if that was a mistake.")
	case ended == "replaced":
		return app.Errorf(app.Conflict, "invitation_replaced", "A newer invitation was sent to %s. Use its link instead.", r.Email)
	case ended != "" || r.Closed:
		return app.Errorf(app.Conflict, "invitation_revoked", "This invitation was taken back.")
	case !now.Before(r.ExpiresAt):
		return app.Errorf(app.Conflict, "invitation_expired", "This invitation has expired: it worked for 7 days. Ask to be invited again.")
	}
	return nil
}

// Accept makes the principal's user a member, when the invitation is to their address. Opening a link that was mailed
// proves the address as well.
func (s *Service) Accept(ctx context.Context, p app.Principal, token string) (m Membership, err error) {
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		r, err := s.inviteRow(ctx, tx, token)
		if err != nil {
			return err
		}
		m, err = s.join(ctx, tx, p, r)
		return err
	})
	return m, postgres.StoreError("account: accept invitation", err)
}
