package account

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
	"umg/app/trial"
)

const (
	accountNameChars = 80
	membershipsMax   = 100 // A user can be in this many accounts.
	membersMax       = 100 // An account can have this many members.
	accountsOwnedMax = 10  // A user can own this many accounts.
	peoplePageMax    = 100 // This limits a page of members or invitations.
)

// Membership is an account that a user is a member of.
type Membership struct {
	AccountID string    `db:"account_id"`
	Name      string    `db:"name"`
	Role      app.Role  `db:"role"`
	JoinedAt  time.Time `db:"created_at"`
}

// Member is a user seen by the others in an account.
type Member struct {
	UserID    string    `db:"user_id"`
	Email     string    `db:"email"`
	Name      string    `db:"name"` // Name is a display name, often empty.
	Role      app.Role  `db:"role"`
	JoinedAt  time.Time `db:"created_at"`
	TwoFactor bool      `db:"two_factor"` // TwoFactor means that signing in needs a second step.
}

// Members is a page of them, in the order in which they joined.
type Members struct {
	Members []Member
	More    bool
}

func memberNotFound() error {
	return app.Errorf(app.NotFound, "member_not_found", "There is no such member.")
}

// Memberships lists the accounts of a user, the one joined first before the others.
func (s *Service) Memberships(ctx context.Context, userID string) ([]Membership, error) {
	list, err := membershipsOf(ctx, s.db, userID)
	return list, postgres.StoreError("account: list memberships", err)
}

// Members lists who belongs to the account. After is the id of the user before the page.
func (s *Service) Members(ctx context.Context, p app.Principal, after string, limit int) (Members, error) {
	limit = pageOf(limit)
	if after != "" {
		if _, err := s.Member(ctx, p, after); err != nil && app.KindOf(err) != app.NotFound {
			return Members{}, err
		} else if err != nil {
			return Members{}, app.InvalidValue("after", "after must be the id of a member, such as the last_id of the page before.")
		}
	}
	list, err := membersOf(ctx, s.db, p.AccountID, after, limit+1)
	if err != nil {
		return Members{}, postgres.StoreError("account: list members", err)
	}
	return Members{Members: list[:min(len(list), limit)], More: len(list) > limit}, nil
}

// Member returns one of the account's members.
func (s *Service) Member(ctx context.Context, p app.Principal, userID string) (Member, error) {
	m, err := memberByID(ctx, s.db, p.AccountID, userID)
	if errors.Is(err, sql.ErrNoRows) || !app.ValidID(userID) {
		return Member{}, memberNotFound()
	}
	return m, postgres.StoreError("account: read member", err)
}

// memberChange manages the members of an account. It makes one change at a time, for a user whose rights are checked in the same
// transaction.
type memberChange struct {
	tx     *sqlx.Tx
	p      app.Principal
	name   string     // Name is the account's name.
	rights app.Rights // Rights are the caller's, read in the transaction.
}

// manage runs one change. It locks the account's row, so that counts stay valid until the commit, and refuses a user who has just
// lost their role.
func (s *Service) manage(ctx context.Context, p app.Principal, need app.Rights, change func(d memberChange) error) error {
	return postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		d := memberChange{tx: tx, p: p, rights: p.Rights}
		var err error
		if d.name, err = lockAccount(ctx, tx, p.AccountID); errors.Is(err, sql.ErrNoRows) {
			return app.Errorf(app.NotFound, "account_not_found", "There is no such account.")
		} else if err != nil {
			return err
		}
		if p.UserID != "" {
			m, err := memberByID(ctx, tx, p.AccountID, p.UserID)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			d.rights = m.Role.Rights()
			if err != nil || !d.rights.Has(need) {
				return errNotYours()
			}
		} else if !d.rights.Has(need) {
			return errNotYours()
		}
		if err := s.LockActor(ctx, tx, p); err != nil {
			return err
		}
		return change(d)
	})
}

func errNotYours() error {
	return app.Errorf(app.Forbidden, "role_not_allowed",
		"Your role in this account does not include this. An owner or admin of the account can change your role.")
}

// may refuses what concerns owners to those who are none.
func (d memberChange) may(roles ...app.Role) error {
	if slices.Contains(roles, app.RoleOwner) && !d.rights.Has(app.OwnAccount) {
		return app.Errorf(app.Forbidden, "owner_required",
			"Only an owner of the account makes, changes and removes owners, and only in the console.")
	}
	return nil
}

// keepOwner refuses what would leave the account without an owner. The account is locked, so the count holds.
func (d memberChange) keepOwner(ctx context.Context, losing Member) error {
	if losing.Role != app.RoleOwner {
		return nil
	}
	owners, err := postgres.Get[int](ctx, d.tx, `select count(*) from memberships where account_id = $1 and role = 'owner'`, d.p.AccountID)
	if err == nil && owners < 2 {
		return app.Errorf(app.Conflict, "last_owner",
			"An account has at least one owner, and this is the only one. Make another member an owner first, or delete the account.")
	}
	return err
}

func (d memberChange) member(ctx context.Context, userID string) (Member, error) {
	if !app.ValidID(userID) {
		return Member{}, memberNotFound()
	}
	m, err := memberByID(ctx, d.tx, d.p.AccountID, userID)
	if errors.Is(err, sql.ErrNoRows) {
		return Member{}, memberNotFound()
	}
	return m, err
}

// SetRole changes what a member may do, from their next request on.
func (s *Service) SetRole(ctx context.Context, p app.Principal, userID string, role app.Role) (m Member, err error) {
	if err := checkRole(role); err != nil {
		return Member{}, err
	}
	err = s.manage(ctx, p, app.ManageMembers, func(d memberChange) error {
		if m, err = d.member(ctx, userID); err != nil {
			return err
		}
		if err := d.may(m.Role, role); err != nil || m.Role == role {
			return err
		}
		if role != app.RoleOwner {
			if err := d.keepOwner(ctx, m); err != nil {
				return err
			}
		}
		before := m.Role
		m.Role = role
		if err := postgres.Exec(ctx, d.tx, `
			update memberships set role = $3 where account_id = $1 and user_id = $2`, p.AccountID, userID, role); err != nil {
			return err
		}
		if err := renewSessions(ctx, d.tx, userID); err != nil {
			return err
		}
		return s.audit.Write(ctx, d.tx, p, audit.Event{Action: "member.role_changed", Object: userID, Name: m.Email,
			Changes: audit.Changed(audit.Change{Field: "role", From: string(before), To: string(role)})})
	})
	return m, postgres.StoreError("account: change role", err)
}

// RemoveMember ends a membership. What the member made stays with the account; what they see of it ends with their next request.
func (s *Service) RemoveMember(ctx context.Context, p app.Principal, userID string) (m Member, err error) {
	err = s.manage(ctx, p, app.ManageMembers, func(d memberChange) error {
		if m, err = d.member(ctx, userID); err != nil {
			return err
		}
		if err := d.may(m.Role); err != nil {
			return err
		}
		return s.part(ctx, d, m, "member.removed")
	})
	return m, postgres.StoreError("account: remove member", err)
}

// Leave ends the principal's own membership.
func (s *Service) Leave(ctx context.Context, p app.Principal) error {
	return postgres.StoreError("account: leave account", s.manage(ctx, p, 0, func(d memberChange) error {
		m, err := d.member(ctx, p.UserID)
		if err != nil {
			return err
		}
		return s.part(ctx, d, m, "member.left")
	}))
}

func (s *Service) part(ctx context.Context, d memberChange, m Member, action audit.Action) error {
	if err := d.keepOwner(ctx, m); err != nil {
		return err
	}
	if err := s.audit.Write(ctx, d.tx, d.p, audit.Event{Action: action, Object: m.UserID, Name: m.Email,
		Changes: []audit.Change{{Field: "role", From: string(m.Role)}}}); err != nil {
		return err
	}
	if err := renewSessions(ctx, d.tx, m.UserID); err != nil {
		return err
	}
	return postgres.Exec(ctx, d.tx, `delete from memberships where account_id = $1 and user_id = $2`, d.p.AccountID, m.UserID)
}

// OpenAccount makes another account that the principal's user owns.
func (s *Service) OpenAccount(ctx context.Context, p app.Principal, name string) (Membership, error) {
	name, err := checkAccountName(name)
	if err != nil {
		return Membership{}, err
	}
	m := Membership{AccountID: s.o.IDs.New("acct"), Name: name, Role: app.RoleOwner, JoinedAt: s.o.Now().UTC()}
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		made, err := insertOwnedAccount(ctx, tx, p.UserID, m)
		if err != nil {
			return err
		}
		if !made {
			return app.Errorf(app.Conflict, "too_many_accounts", "One person owns at most %d accounts. Use one of yours, or delete one.",
				accountsOwnedMax).At("name")
		}
		return s.ledger.OpenAccount(ctx, tx, m.AccountID)
	})
	return m, postgres.StoreError("account: make account", err)
}

// checkRole refuses a word that is no role.
func checkRole(role app.Role) error {
	if role.Rights() == 0 {
		return app.InvalidValue("role", "The role is one of %s.", app.JoinWords(app.Roles()))
	}
	return nil
}

// accountNameFor returns the name of a user's new account until a member renames it.
func accountNameFor(email string) string {
	name, _ := trial.SplitEmail(email)
	const ending = "'s account"
	if most := accountNameChars - len(ending); utf8.RuneCountInString(name) > most {
		name = string([]rune(name)[:most])
	}
	return name + ending
}

// checkAccountName trims a name and refuses what cannot be one.
func checkAccountName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || utf8.RuneCountInString(name) > accountNameChars || !app.Printable(name) {
		return "", app.InvalidValue("name", "A name has between 1 and %d printable characters.", accountNameChars)
	}
	return name, nil
}

// pageOf is the size of a page: what was asked for, within reason.
func pageOf(limit int) int {
	if limit <= 0 || limit > peoplePageMax {
		return peoplePageMax
	}
	return limit
}
