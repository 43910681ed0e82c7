package operator

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"umg/app"
	"umg/app/postgres"
)

// These are limits of what is read.
const (
	PageMax      = 50                  // A page has at most this many accounts.
	SpentOver    = 30 * 24 * time.Hour // An account's spend is shown over this period.
	spentTimeMax = time.Second         // Adding up the spend has this timeout; a page works without it.
	queryMax     = 200                 // A search text has at most this many characters.
	peopleShown  = 100
	entriesShown = 20
	historyShown = 10
)

// State narrows accounts to those in it.
type State string

// A list can be narrowed to these states.
const (
	All    State = ""
	Frozen State = "frozen"
	Owing  State = "owing"
	Unpaid State = "unpaid" // Unpaid accounts are open and have had only trial credit.
)

// Sort is the order of accounts.
type Sort string

// These are the orders of accounts.
const (
	Newest  Sort = ""
	Balance Sort = "balance" // The highest balance comes first.
)

// Query says which accounts are listed. After is the last account of the page before, and Below its balance in the order of balances.
type Query struct {
	Text  string // Text is a part of a member's e-mail address or of the account's name, or the whole id.
	State State
	Sort  Sort
	After string
	Below app.Amount
}

// Account is an account as operators see it in a list.
type Account struct {
	ID           string     `db:"id"`
	Name         string     `db:"name"`
	CreatedAt    time.Time  `db:"created_at"`
	LimitFactor  int        `db:"limit_factor"`
	Owner        string     `db:"owner"` // Owner is the e-mail address of the first owner, empty without one.
	People       int        `db:"people"`
	Balance      app.Amount `db:"posted_nanos"`
	Owed         app.Amount `db:"owed_nanos"`
	PaidAt       *time.Time `db:"paid_at"` // PaidAt is when it first had other credit than the trial's.
	FrozenAt     *time.Time `db:"frozen_at"`
	FrozenReason string     `db:"frozen_reason"`
	// Indebted accounts are frozen only because of their debt.
	Indebted bool `db:"indebted"`
	// Uncharged accounts need no credit. Their calls are recorded and not charged.
	Uncharged bool `db:"uncharged"`
	Closed    bool `db:"closed"`
}

// Page is a part of the accounts. Spent is what they spent lately, by id; nil where adding it up took too long.
type Page struct {
	Accounts []Account
	Spent    map[string]app.Amount
	More     bool
}

// Accounts lists accounts of everybody, at most 50.
func (d *Service) Accounts(ctx context.Context, q Query) (Page, error) {
	q.Text = strings.ToLower(strings.TrimSpace(q.Text))
	if utf8.RuneCountInString(q.Text) > queryMax || !app.Storable(q.Text) || !app.Storable(q.After) {
		return Page{}, nil // No account matches, so the database is not queried.
	}
	list, err := selectAccounts(ctx, d.db, q, PageMax+1)
	if err != nil {
		return Page{}, accountError("list accounts", err)
	}
	page := Page{Accounts: list[:min(len(list), PageMax)], More: len(list) > PageMax}
	page.Spent = d.spent(ctx, page.Accounts)
	return page, nil
}

// spent adds up what accounts spent lately, from the sums of quarter hours. An account with thousands of keys has very many of
// those, and then it is left out rather than waited for.
func (d *Service) spent(ctx context.Context, list []Account) map[string]app.Amount {
	ctx, cancel := context.WithTimeout(ctx, spentTimeMax)
	defer cancel()
	ids := make([]string, len(list))
	for i, a := range list {
		ids[i] = a.ID
	}
	sums, err := selectSpent(ctx, d.db, ids, d.spentSince())
	if err != nil {
		return nil
	}
	return sums
}

// AccountStatus is how an account stands for what can be done to it.
type AccountStatus struct {
	Frozen   bool `db:"frozen"`
	Indebted bool `db:"indebted"`
	Closed   bool `db:"closed"`
	Own      bool `db:"own"` // Own means that the reader is a member of the account.
}

// AccountDetail is all that operators see of one account.
type AccountDetail struct {
	Account

	FrozenBy string      // FrozenBy is the operator who froze it, or empty.
	Spent    *app.Amount // Spent is recent; it is nil when adding it up took too long.
	Own      bool        // Own means that the reader is a member of the account.
}

// Account reads one account for an operator with that user id.
func (d *Service) Account(ctx context.Context, id, reader string) (AccountDetail, error) {
	if !app.Storable(id) {
		return AccountDetail{}, errNoAccount()
	}
	one, err := postgres.Get[Account](ctx, d.db, `select `+accountColumns+accountTables+`where a.id = $1`, id)
	if err != nil {
		return AccountDetail{}, accountError("read account", err)
	}
	standing, err := selectStanding(ctx, d.db, id, reader)
	if err != nil {
		return AccountDetail{}, accountError("read account", err)
	}
	w := AccountDetail{Account: one, Own: standing.Own}
	if one.FrozenAt != nil {
		if w.FrozenBy, err = postgres.Get[string](ctx, d.db, `
			select coalesce((
				select operator from operator_actions
				where account_id = $1 and action = 'freeze'
					and at between $2::timestamptz - interval '1 second' and $2::timestamptz + interval '1 second'
				order by at desc limit 1
			), '')`, id, *one.FrozenAt); err != nil {
			return AccountDetail{}, accountError("read account", err)
		}
	}
	if sums := d.spent(ctx, []Account{one}); sums != nil {
		spent := sums[id]
		w.Spent = &spent
	}
	return w, nil
}

// Person is a member of an account.
type Person struct {
	ID         string     `db:"id"`
	Email      string     `db:"email"`
	Name       string     `db:"name"`
	Role       string     `db:"role"`
	Verified   bool       `db:"verified"`
	SecondStep bool       `db:"second_step"`
	Operator   bool       `db:"operator"`
	JoinedAt   time.Time  `db:"joined_at"`
	SignedInAt *time.Time `db:"signed_in_at"` // SignedInAt is the start of the latest stored session.
}

// People are the members of an account, owners first, at most 100.
func (d *Service) People(ctx context.Context, accountID string) ([]Person, error) {
	people, err := postgres.Select[Person](ctx, d.db, `
		select u.id, u.email, u.name, m.role, u.verified_at is not null as verified, t.enabled_at is not null as second_step, u.operator,
			m.created_at as joined_at, (select max(s.created_at) from sessions s where s.user_id = u.id) as signed_in_at
		from memberships m join users u on u.id = m.user_id left join totp_secrets t on t.user_id = u.id
		where m.account_id = $1 order by m.role <> 'owner', m.created_at, u.id limit $2`, accountID, peopleShown)
	return people, accountError("list people", err)
}

// Entry is a movement of an account's credit, with the operator who moved it.
type Entry struct {
	ID          int64      `db:"id"`
	Transaction string     `db:"transaction_id"`
	Kind        string     `db:"kind"`
	Ref         string     `db:"ref"`
	Amount      app.Amount `db:"amount_nanos"`
	After       app.Amount `db:"posted_after"`
	Reason      string     `db:"reason"`
	Operator    string     `db:"operator"`
	At          time.Time  `db:"at"`
}

// Entries are the latest movements of an account's credit.
func (d *Service) Entries(ctx context.Context, accountID string) ([]Entry, error) {
	entries, err := postgres.Select[Entry](ctx, d.db, `
		select e.id, e.transaction_id, t.kind, t.ref, e.amount_nanos, e.posted_after, coalesce(t.meta ->> 'reason', '') as reason,
			coalesce(t.meta ->> 'operator', '') as operator, t.at
		from ledger_entries e join ledger_transactions t on t.id = e.transaction_id
		where e.account_id = $1 and e.posted_after is not null order by e.id desc limit $2`, accountID, entriesShown)
	return entries, accountError("list entries", err)
}

func errNoAccount() error {
	return app.Errorf(app.NotFound, "account_not_found", "There is no such account.")
}

// accountError is postgres.StoreError with the answer for an account that does not exist.
func accountError(step string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return errNoAccount()
	}
	return postgres.StoreError("operator: "+step, err)
}
