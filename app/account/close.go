package account

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"umg/app"
	"umg/app/audit"
	"umg/app/mail"
	"umg/app/postgres"
)

// closedName takes the place of the name of a deleted account.
const closedName = "Deleted account"

// Account is an account as its members see it.
type Account struct {
	ID           string    `db:"id"`
	Name         string    `db:"name"`
	CreatedAt    time.Time `db:"created_at"`
	LimitFactor  int       `db:"limit_factor"` // LimitFactor multiplies the default limits.
	Frozen       bool      `db:"frozen"`
	FrozenReason string    `db:"frozen_reason"`
	Members      int       `db:"members"`
	Owners       int       `db:"owners"`
}

// Account returns the principal's account.
func (s *Service) Account(ctx context.Context, p app.Principal) (Account, error) {
	a, err := accountByID(ctx, s.db, p.AccountID)
	return a, postgres.StoreError("account: read account", err)
}

// RenameAccount changes what the account is called.
func (s *Service) RenameAccount(ctx context.Context, p app.Principal, name string) error {
	name, err := checkAccountName(name)
	if err != nil {
		return err
	}
	return postgres.StoreError("account: rename account", s.manage(ctx, p, app.ManageAccount, func(d memberChange) error {
		if d.name == name {
			return nil
		}
		if err := postgres.Exec(ctx, d.tx, `update accounts set name = $2 where id = $1`, p.AccountID, name); err != nil {
			return err
		}
		return s.audit.Write(ctx, d.tx, p, audit.Event{Action: "account.renamed", Name: name,
			Changes: []audit.Change{{Field: "name", From: d.name, To: name}}})
	}))
}

// CloseRequest is what the owner of an account gives to delete it.
type CloseRequest struct {
	Password string
	Name     string // Name is the account's name, as the user typed it.
}

// CloseAccount deletes an account. Its keys and memberships end at once, and no new work can begin in it. The ledger keeps what
// accounting needs; a worker erases the rest within minutes.
func (s *Service) CloseAccount(ctx context.Context, p app.Principal, c CloseRequest) error {
	if p.UserID == "" {
		return (memberChange{p: p}).may(app.RoleOwner)
	}
	if _, err := s.proved(ctx, p.UserID, c.Password); err != nil {
		return err
	}
	balance, err := s.ledger.Balance(ctx, p.AccountID)
	if err != nil {
		return postgres.StoreError("account: read balance", err)
	}
	return postgres.StoreError("account: delete account", s.manage(ctx, p, app.OwnAccount, func(d memberChange) error {
		if strings.Join(strings.Fields(c.Name), " ") != strings.Join(strings.Fields(d.name), " ") {
			return app.InvalidValue("name", "Type the name of the account exactly as it is shown: %s", d.name)
		}
		members, err := membersOf(ctx, d.tx, p.AccountID, "", membersMax)
		if err != nil {
			return err
		}
		if err := s.audit.Write(ctx, d.tx, p, audit.Event{Action: "account.deleted", Name: d.name,
			Changes: []audit.Change{{Field: "credit given up", From: "$" + balance.Posted.String()}}}); err != nil {
			return err
		}
		if err := s.notifyClosed(ctx, d, members); err != nil {
			return err
		}
		return s.end(ctx, d, members)
	}))
}

// notifyClosed tells every former member that the account is gone.
func (s *Service) notifyClosed(ctx context.Context, d memberChange, members []Member) error {
	if s.o.Mail == nil {
		return nil
	}
	for _, member := range members {
		err := mail.SendAll(ctx, d.tx, s.o.Mail, s.o.Log, mail.Broadcast{
			Letter: endLetter(d.name, member.Role), Subject: endSubject, Kind: "account_deleted", To: []string{member.Email},
			About: slog.String("account_id", d.p.AccountID),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const endSubject = "An account of yours was deleted"

func endLetter(name string, role app.Role) mail.Template {
	return mail.Template{
		Title: endSubject,
		Paragraphs: []string{
			fmt.Sprintf("An owner deleted the account %s, of which you were %s. Its keys are refused from now on, and its videos, "+
				"assets and webhooks are removed. This cannot be undone.", mail.Quote(name), role),
			mail.WrittenBy(byMembers),
			"Members who belong to no other account can no longer sign in, and their personal data is erased.",
		},
		Footer: "Records of what was bought and charged are kept, because the law asks for them.",
	}
}

// byMembers are the authors of names that mails to members show.
const byMembers = "members of the account"

// end takes everything from an account that this room knows of.
func (s *Service) end(ctx context.Context, d memberChange, members []Member) error {
	now, id := s.o.Now().UTC(), d.p.AccountID
	if err := closeAccount(ctx, d.tx, id, closedName, now); err != nil {
		return err
	}
	if err := s.ledger.Freeze(ctx, d.tx, id, "The account was deleted."); err != nil {
		return err
	}
	budgets, err := endKeys(ctx, d.tx, id, now)
	if err != nil {
		return err
	}
	for _, key := range budgets {
		if err := s.ledger.CloseBudget(ctx, d.tx, id, key); err != nil {
			return err
		}
	}
	users := make([]string, len(members))
	for i, m := range members {
		users[i] = m.UserID
	}
	return eraseMembers(ctx, d.tx, id, users, now)
}
