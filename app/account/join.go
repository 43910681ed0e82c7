package account

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
)

// join makes the principal's user, who came by its link, a member of the account that an invitation is to.
func (s *Service) join(ctx context.Context, tx *sqlx.Tx, p app.Principal, r inviteRow) (Membership, error) {
	now := s.o.Now().UTC()
	if _, err := lockAccount(ctx, tx, r.AccountID); errors.Is(err, sql.ErrNoRows) {
		r.Closed = true
	} else if err != nil {
		return Membership{}, err
	}
	u, err := userByID(ctx, tx, p.UserID)
	if err != nil {
		return Membership{}, err
	}
	if u.Email != r.Email {
		return Membership{}, app.Errorf(app.Forbidden, "invitation_for_other",
			"This invitation is for %s, and you are signed in as %s. Sign in with that address to accept it.", r.Email, u.Email)
	}
	if err := r.refuse(now); err != nil {
		return Membership{}, err
	}
	if ended, err := endInvitation(ctx, tx, r.AccountID, r.ID, "accepted", now); err != nil {
		return Membership{}, err
	} else if !ended {
		return Membership{}, invitationNotFound()
	}
	if s.Verifies() && !u.Verified {
		if _, err := s.prove(ctx, tx, u.ID, p.From, now); err != nil {
			return Membership{}, err
		}
	}
	return s.admit(ctx, tx, p, u, r, now)
}

// admit writes the membership, within the limits of the account and of the user. Who is a member already keeps their role.
func (s *Service) admit(ctx context.Context, tx *sqlx.Tx, p app.Principal, u User, r inviteRow, now time.Time) (Membership, error) {
	m := Membership{AccountID: r.AccountID, Name: r.Account, Role: r.Role, JoinedAt: now}
	already, err := memberByID(ctx, tx, r.AccountID, u.ID)
	if err == nil {
		m.Role, m.JoinedAt = already.Role, already.JoinedAt
		return m, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return m, err
	}
	members, err := postgres.Get[int](ctx, tx, `select count(*) from memberships where account_id = $1`, r.AccountID)
	if err != nil {
		return m, err
	}
	if members >= membersMax {
		return m, app.Errorf(app.Conflict, "too_many_members", "This account has %d members, which is as many as it may have.", membersMax)
	}
	theirs, err := membershipsOf(ctx, tx, u.ID)
	if err != nil {
		return m, err
	}
	if len(theirs) >= membershipsMax {
		return m, app.Errorf(app.Conflict, "too_many_accounts", "You are a member of %d accounts, which is as many as one person may be.",
			membershipsMax)
	}
	if err := insertMembership(ctx, tx, r.AccountID, u.ID, r.Role, now); err != nil {
		return m, err
	}
	if err := renewSessions(ctx, tx, u.ID); err != nil {
		return m, err
	}
	p.AccountID = r.AccountID
	return m, s.audit.Write(ctx, tx, p, audit.Event{Action: "member.joined", Object: u.ID, Name: u.Email,
		Changes: []audit.Change{{Field: "role", To: string(r.Role)}}})
}

// Decline ends an invitation for the holder of its link.
func (s *Service) Decline(ctx context.Context, p app.Principal, token string) (o InvitationPreview, err error) {
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		r, err := s.inviteRow(ctx, tx, token)
		if err != nil {
			return err
		}
		now := s.o.Now().UTC()
		if err := r.refuse(now); err != nil {
			return err
		}
		ended, err := endInvitation(ctx, tx, r.AccountID, r.ID, "declined", now)
		if err == nil && !ended {
			err = invitationNotFound()
		}
		if err != nil {
			return err
		}
		o = InvitationPreview{Invitation: r.Invitation, AccountID: r.AccountID, Account: r.Account}
		who := app.Principal{AccountID: r.AccountID, From: p.From} // The link does not identify its holder.
		return s.audit.Write(ctx, tx, who, audit.Event{Action: "invitation.declined", Object: r.ID, Name: r.Email})
	})
	return o, postgres.StoreError("account: decline invitation", err)
}
