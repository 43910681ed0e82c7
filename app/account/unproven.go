package account

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
)

// unprovenEnd is a table with something that lets a stranger sign in, read on or take the account over. Its statement ends that
// and returns the id and the name of each thing it ended; $1 is the user or the account, $2 is now.
type unprovenEnd struct {
	table     string
	statement string
	// action is the entry in the audit log. An empty action writes none.
	action audit.Action
}

// unprovenKeysBatch is how many keys are read at once.
const unprovenKeysBatch = 200

// unprovenOfUser and unprovenOfAccount are what the first proof of an address ends in addition to keys and invitations. The test beside
// them names every other table about accounts and users, and why it stays.
var unprovenOfUser = []unprovenEnd{
	{"sessions", `delete from sessions where user_id = $1 and $2::timestamptz is not null returning id, '' as name`, ""},
	{"totp_secrets", `
		with codes as (delete from recovery_codes where user_id = $1)
		delete from totp_secrets where user_id = $1 and $2::timestamptz is not null returning user_id as id, '' as name`, ""},
	{"change_links", `
		update change_links set used_at = $2 where user_id = $1 and used_at is null returning user_id as id, '' as name`, ""},
	{"email_links", `
		update email_links set used_at = $2 where user_id = $1 and used_at is null returning user_id as id, '' as name`, ""},
}

var unprovenOfAccount = []unprovenEnd{
	{"webhook_endpoints", `
		update webhook_endpoints set deleted_at = $2, updated_at = $2, secret = '', previous_secret = null, previous_valid_until = null
		where account_id = $1 and deleted_at is null returning id, name`, "webhook.deleted"},
	{"prompt_shares", `
		update prompt_shares s set revoked_at = $2 from prompts p
		where p.id = s.prompt_id and s.account_id = $1 and s.revoked_at is null returning p.id, p.name`, "prompt.share_revoked"},
}

// endUnproven ends what was made before the user's address was verified for the first time: their sessions, second step and links,
// and the keys, open invitations, webhook endpoints and shared links of the accounts that no other user owns. All of it may be the
// work of a person who signed up with an address that is not theirs.
//
// The user is locked. Sessions end first: LockActor holds the session of the user who makes something, so what is under way is
// committed before its session can be deleted and is ended here, and everything else is refused.
func (s *Service) endUnproven(ctx context.Context, tx *sqlx.Tx, userID string, from app.Origin, now time.Time) error {
	p := app.Principal{UserID: userID, From: from}
	for _, e := range unprovenOfUser {
		if err := s.endTable(ctx, tx, p, e, userID, now); err != nil {
			return err
		}
	}
	accounts, err := postgres.Select[string](ctx, tx, `
		select m.account_id from memberships m where m.user_id = $1 and m.role = 'owner' and not exists (
			select from memberships o where o.account_id = m.account_id and o.role = 'owner' and o.user_id <> $1)
		order by m.account_id limit $2`, userID, membershipsMax)
	if err != nil {
		return err
	}
	for _, id := range accounts {
		p.AccountID = id
		if err := s.endUnprovenKeys(ctx, tx, p, now); err != nil {
			return err
		}
		if err := s.endUnprovenInvitations(ctx, tx, p, now); err != nil {
			return err
		}
		for _, e := range unprovenOfAccount {
			if err := s.endTable(ctx, tx, p, e, id, now); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Service) endTable(ctx context.Context, tx *sqlx.Tx, p app.Principal, e unprovenEnd, id string, now time.Time) error {
	var ended []struct {
		ID   string `db:"id"`
		Name string `db:"name"`
	}
	if err := tx.SelectContext(ctx, &ended, e.statement, id, now); err != nil || e.action == "" {
		return err
	}
	for _, one := range ended {
		if err := s.audit.Write(ctx, tx, p, audit.Event{Action: e.action, Object: one.ID, Name: one.Name}); err != nil {
			return err
		}
	}
	return nil
}

// endUnprovenKeys deletes keys until there are none: a key that manages the account may make another one until it is locked.
func (s *Service) endUnprovenKeys(ctx context.Context, tx *sqlx.Tx, p app.Principal, now time.Time) error {
	for {
		ids, err := liveKeys(ctx, tx, p.AccountID, unprovenKeysBatch)
		if err != nil || len(ids) == 0 {
			return err
		}
		for _, id := range ids {
			k, found, err := endKey(ctx, tx, p.AccountID, id, now)
			if err != nil {
				return err
			}
			if !found {
				continue // Its owner deleted it in between.
			}
			if k.Budget {
				if err := s.ledger.CloseBudget(ctx, tx, p.AccountID, id); err != nil {
					return err
				}
			}
			if err := s.audit.Write(ctx, tx, p, audit.Event{Action: "key.deleted", Object: id, Name: k.Name}); err != nil {
				return err
			}
		}
	}
}

func (s *Service) endUnprovenInvitations(ctx context.Context, tx *sqlx.Tx, p app.Principal, now time.Time) error {
	open, err := invitationsOf(ctx, tx, p.AccountID, "", invitationsMax)
	if err != nil {
		return err
	}
	for _, i := range open {
		if _, err := endInvitation(ctx, tx, p.AccountID, i.ID, "revoked", now); err != nil {
			return err
		}
		if err := s.audit.Write(ctx, tx, p, audit.Event{Action: "invitation.revoked", Object: i.ID, Name: i.Email}); err != nil {
			return err
		}
	}
	return nil
}

// LockActor refuses a principal whose session or key has ended since the request began, and keeps either from ending before the
// transaction of q does. Every function that makes something that outlives a session calls it, after any lock of the user's row.
func (s *Service) LockActor(ctx context.Context, q postgres.Queryer, p app.Principal) error {
	switch {
	case p.SessionID != "":
		locked, err := postgres.Select[string](ctx, q, `
			select id from sessions where id = $1 and user_id = $2 for key share`, p.SessionID, p.UserID)
		if err == nil && len(locked) == 0 {
			return app.Errorf(app.Unauthenticated, "session_ended", "Your session was ended a moment ago. Sign in again.").Final()
		}
		return postgres.StoreError("account: lock session", err)
	case p.KeyID != "":
		locked, err := postgres.Select[string](ctx, q, `
			select id from api_keys where account_id = $1 and id = $2 and deleted_at is null for share`, p.AccountID, p.KeyID)
		if err == nil && len(locked) == 0 {
			return app.Errorf(app.Unauthenticated, "key_ended", "This key was deleted a moment ago. Use another one.").Final()
		}
		return postgres.StoreError("account: lock key", err)
	}
	return nil
}
