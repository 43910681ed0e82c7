package stripe

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
)

// customerRoundsMax is how often one request replaces a customer that Stripe no longer knows.
const customerRoundsMax = 2

// CheckoutRequest asks for credit. Two requests with the same idempotency key make one checkout.
type CheckoutRequest struct {
	Principal      app.Principal // Principal is the buyer, who acts for an account.
	Email          string        // Email receives the receipt. When it is empty, the account's owner does.
	Cents          int64
	IdempotencyKey string
}

// Checkout opens a hosted checkout; the top-up's URL is its address. When Stripe is unavailable, the caller can repeat the
// request with its key without a second checkout.
func (s *Service) Checkout(ctx context.Context, r CheckoutRequest) (Topup, error) {
	if err := s.requireEnabled(); err != nil {
		return Topup{}, err
	}
	if err := checkAmount(r.Cents, "amount"); err != nil {
		return Topup{}, err
	}
	if r.IdempotencyKey == "" || len(r.IdempotencyKey) > keyBytesMax {
		return Topup{}, app.Errorf(app.Invalid, "invalid_request_error",
			"idempotency_key must have 1 to %d characters.", keyBytesMax).At("idempotency_key")
	}
	if err := s.mayBuy(ctx, r.Principal.AccountID); err != nil {
		return Topup{}, err
	}
	if r.Email == "" {
		to, err := mailRecipients(ctx, s.db, r.Principal.AccountID, "")
		if err != nil {
			return Topup{}, postgres.StoreError("stripe: find who pays", err)
		}
		if len(to) > 0 {
			r.Email = to[0]
		}
	}
	row, err := s.order(ctx, r)
	if errors.Is(err, sql.ErrNoRows) {
		return Topup{}, app.Errorf(app.Exhausted, "too_many_open_topups",
			"This account has %d top-ups that wait for payment, which is the limit. Pay one of them, or try again when the oldest has "+
				"expired, 24 hours after it was made.", openMax).After(time.Hour)
	}
	if err != nil {
		return Topup{}, postgres.StoreError("stripe: make a top-up", err)
	}
	if row.Cents != r.Cents || row.Auto {
		return Topup{}, app.Errorf(app.Unprocessable, "idempotency_error",
			"This idempotency key was used for another amount. Use a new key for a new top-up.").At("idempotency_key").Final()
	}
	return s.open(ctx, row)
}

// order records a new top-up, or finds the one that was ordered with the same key before.
func (s *Service) order(ctx context.Context, r CheckoutRequest) (row topupRow, err error) {
	now := s.now()
	due := now.Add(s.o.Waits.First)
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		var made bool
		row, made, err = insertTopup(ctx, tx, topupRow{
			ID: s.o.IDs.New("top"), AccountID: r.Principal.AccountID, Cents: r.Cents, State: Created, Email: r.Email,
			IdempotencyKey: r.IdempotencyKey, CreatedAt: now, DueAt: &due,
		}, openMax)
		if err != nil || !made {
			return err
		}
		return s.audit.Write(ctx, tx, r.Principal, audit.Event{
			Action: "billing.topup_started", Object: row.ID, Changes: []audit.Change{{Field: "amount", To: dollars(nanos(r.Cents))}},
		})
	})
	return row, err
}

func checkAmount(cents int64, param string) error {
	if cents >= CentsMin && cents <= CentsMax {
		return nil
	}
	return app.Errorf(app.Invalid, "invalid_amount", "%s must be between $%s and $%s.", param, nanos(CentsMin), nanos(CentsMax)).At(param)
}

// mayBuy refuses frozen accounts, because an account with stolen cards must not try more of them. An account frozen only for
// its debt may buy, because that pays the debt.
func (s *Service) mayBuy(ctx context.Context, accountID string) error {
	is, exists, err := frozen(ctx, s.db, accountID)
	if err == nil && is {
		var forReceivable bool
		forReceivable, err = frozenForReceivable(ctx, s.db, accountID)
		is = !forReceivable
	}
	switch {
	case err != nil:
		return postgres.StoreError("stripe: read an account", err)
	case !exists:
		return app.Errorf(app.NotFound, "account_not_found", "There is no such account.")
	case is:
		return app.Errorf(app.Forbidden, "account_frozen",
			"This account is frozen, so it cannot buy credit. Contact support.").Final()
	}
	return nil
}

// open gives a top-up its checkout session at Stripe, if it has none.
func (s *Service) open(ctx context.Context, row topupRow) (Topup, error) {
	for range customerRoundsMax {
		if row.State != Created {
			return row.topup(), nil
		}
		customerID := row.CustomerID
		if customerID == "" {
			var err error
			if customerID, err = s.customer(ctx, row.AccountID, row.Email); err != nil {
				return Topup{}, err
			}
		}
		next, err := s.opened(ctx, row, customerID)
		if !errors.Is(err, errMissing) {
			return next.topup(), err
		}
		s.o.Log.Warn("stripe customer missing, creating another", "account_id", row.AccountID, "customer_id", customerID)
		if err := dropCustomer(ctx, s.db, row.AccountID, customerID); err != nil {
			return Topup{}, postgres.StoreError("stripe: forget a customer", err)
		}
		row.CustomerID = ""
	}
	return Topup{}, unavailable(fmt.Errorf("stripe: no customer for %s", row.AccountID))
}

func (s *Service) opened(ctx context.Context, row topupRow, customerID string) (topupRow, error) {
	row.CustomerID = customerID
	session, err := s.api.newSession(ctx, row, s.o.BaseURL)
	if err != nil {
		return topupRow{}, postgres.StoreError("stripe: open a checkout", err)
	}
	if session.ID == "" || session.URL == "" || session.ClientReferenceID != row.ID || session.Livemode != s.livemode() {
		return topupRow{}, unavailable(fmt.Errorf("stripe: asked for a checkout of %s, got %q for %q",
			row.ID, session.ID, session.ClientReferenceID))
	}
	next := row
	next.State, next.SessionID, next.URL = Open, session.ID, session.URL
	if kept, err := updateTopup(ctx, s.db, row, next); err != nil || kept {
		return next, postgres.StoreError("stripe: keep a checkout", err)
	}
	row, err = topupByID(ctx, s.db, row.ID) // The same request was sent twice, and the other one was faster.
	return row, postgres.StoreError("stripe: read a top-up", err)
}

// customer returns the account's customer id at Stripe. It creates one customer, however many requests ask concurrently.
func (s *Service) customer(ctx context.Context, accountID, email string) (string, error) {
	var a accountRow
	// The first address stays, because Stripe rejects a repeated request with other parameters.
	err := s.db.GetContext(ctx, &a, `
		insert into payment_accounts (account_id, customer_email) values ($1, $2)
		on conflict (account_id) do update set customer_email = case payment_accounts.customer_email
			when '' then excluded.customer_email else payment_accounts.customer_email end
		returning `+accountColumns, accountID, email)
	if err != nil {
		return "", postgres.StoreError("stripe: read payment details", err)
	}
	if a.CustomerID != "" {
		return a.CustomerID, nil
	}
	made, err := s.api.newCustomer(ctx, accountID, a.CustomerEmail, a.CustomerRound)
	if err != nil {
		return "", postgres.StoreError("stripe: make a customer", err)
	}
	_, err = s.db.ExecContext(ctx, `
		update payment_accounts set customer_id = $2 where account_id = $1 and customer_round = $3 and customer_id is null`,
		accountID, made, a.CustomerRound)
	if err != nil {
		return "", postgres.StoreError("stripe: keep a customer", err)
	}
	if a, err = accountByID(ctx, s.db, accountID); err != nil {
		return "", postgres.StoreError("stripe: read payment details", err)
	}
	return cmp.Or(a.CustomerID, made), nil
}

// Portal returns the address of Stripe's own page for cards.
func (s *Service) Portal(ctx context.Context, p app.Principal) (string, error) {
	if err := s.requireEnabled(); err != nil {
		return "", err
	}
	accountID := p.AccountID
	a, err := accountByID(ctx, s.db, accountID)
	if err != nil {
		return "", postgres.StoreError("stripe: read payment details", err)
	}
	none := app.Errorf(app.NotFound, "no_payment_details",
		"There are no payment details yet. Buy credit first; a card can be saved on the way.")
	if a.CustomerID == "" {
		return "", none
	}
	address, err := s.api.portal(ctx, a.CustomerID, s.o.BaseURL+"/console/billing")
	if errors.Is(err, errMissing) {
		if err := dropCustomer(ctx, s.db, accountID, a.CustomerID); err != nil {
			return "", postgres.StoreError("stripe: forget a customer", err)
		}
		return "", none
	}
	if err != nil {
		return "", postgres.StoreError("stripe: open the portal", err)
	}
	if err := s.audit.Write(ctx, s.db, p, audit.Event{Action: "billing.portal_opened"}); err != nil {
		return "", err
	}
	return address, nil
}
