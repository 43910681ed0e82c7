package stripe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"umg/app"
	"umg/app/mail"
	"umg/app/postgres"
)

const (
	failuresMax     = 3 // After this many failures in a row the gateway stops charging an account's card.
	capCentsMax     = 100_000_000
	thresholdMax    = 10_000 * app.Dollar
	uniqueViolation = "23505"
)

// AutoTopup configures when an account's saved card is charged automatically.
type AutoTopup struct {
	Enabled         bool
	ThresholdNanos  app.Amount // The card is charged when the balance is below this.
	Cents           int64      // Each charge is this large.
	MonthlyCapCents int64      // Charges of one calendar month (UTC) are at most this much.
	Failures        int        // Failures counts failed charges in a row.
	DisabledReason  string     // DisabledReason is why the gateway turned it off.
	HasCard         bool
}

// AutoTopup returns what an account has chosen.
func (s *Service) AutoTopup(ctx context.Context, accountID string) (AutoTopup, error) {
	a, err := accountByID(ctx, s.db, accountID)
	if err != nil {
		return AutoTopup{}, postgres.StoreError("stripe: read payment details", err)
	}
	return AutoTopup{
		Enabled: a.AutoEnabled, ThresholdNanos: a.Threshold, Cents: a.AutoCents, MonthlyCapCents: a.CapCents, Failures: a.Failures,
		DisabledReason: a.DisabledReason, HasCard: a.PaymentMethod != "",
	}, nil
}

// SetAutoTopup changes the account's choice. Turning it on requires a saved card, and resets the failures. If credit is low
// already, the card is charged within seconds.
func (s *Service) SetAutoTopup(ctx context.Context, p app.Principal, to AutoTopup) error {
	if to.Enabled {
		if err := s.checkAutoTopup(ctx, p.AccountID, to); err != nil {
			return err
		}
	}
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		a, err := lockAccount(ctx, tx, p.AccountID)
		if err != nil {
			return err
		}
		was := a
		a.AutoEnabled = to.Enabled
		if to.Enabled {
			if a.PaymentMethod == "" {
				return errNoCard()
			}
			a.Threshold, a.AutoCents, a.CapCents = to.ThresholdNanos, to.Cents, to.MonthlyCapCents
		}
		a.Failures, a.DisabledReason = 0, ""
		if err := saveAuto(ctx, tx, a, nil); err != nil {
			return err
		}
		return s.auditAutoTopup(ctx, tx, p, was, a)
	})
	return postgres.StoreError("stripe: change automatic top-up", err)
}

func (s *Service) checkAutoTopup(ctx context.Context, accountID string, to AutoTopup) error {
	if err := s.requireEnabled(); err != nil {
		return err
	}
	if err := s.mayBuy(ctx, accountID); err != nil {
		return err
	}
	if err := checkAmount(to.Cents, "amount"); err != nil {
		return err
	}
	if to.ThresholdNanos <= 0 || to.ThresholdNanos > thresholdMax {
		return app.Errorf(app.Invalid, "invalid_amount", "threshold must be more than $0 and at most $%s.", thresholdMax).At("threshold")
	}
	if to.MonthlyCapCents < to.Cents || to.MonthlyCapCents > capCentsMax {
		return app.Errorf(app.Invalid, "invalid_amount", "monthly_cap must be at least the amount, $%s, and at most $%s, not $%s.",
			nanos(to.Cents), nanos(capCentsMax), nanos(to.MonthlyCapCents)).At("monthly_cap")
	}
	return nil
}

func errNoCard() error {
	return app.Errorf(app.Conflict, "no_saved_card",
		"There is no saved card to charge. Buy credit once with a card, then turn this on.").Final()
}

// cardDue are the accounts whose cards are to be charged at the time $2.
const cardDue = `from payment_accounts p join credit_accounts c on c.id = p.account_id join accounts a on a.id = p.account_id
	where p.auto_enabled and p.payment_method <> '' and p.customer_id is not null and a.frozen_at is null and a.closed_at is null
		and (p.auto_due_at is null or p.auto_due_at <= $2) and ` + balance + ` < p.threshold_nanos
		and not exists (select from topups t where t.account_id = p.account_id and t.auto and t.state in ('CREATED', 'OPEN'))`

// chargeLowAccounts charges the cards of the accounts whose credit is low.
func (s *Service) chargeLowAccounts(ctx context.Context) error {
	var ids []string
	err := s.db.SelectContext(ctx, &ids, `select p.account_id `+cardDue+` order by p.auto_due_at nulls first, p.account_id limit $1`,
		autoRowsMax, s.now())
	if err != nil {
		return postgres.StoreError("stripe: look for low credit", err)
	}
	for _, id := range ids {
		row, wanted, err := s.orderAutoTopup(ctx, id)
		if err != nil {
			return err
		}
		if !wanted {
			continue
		}
		if err := s.charge(ctx, row); isUnavailable(err) || ctx.Err() != nil {
			return err
		} else if err != nil {
			s.o.Log.Error("automatic top-up failed", "topup_id", row.ID, "account_id", id, "error", err)
		}
	}
	return nil
}

// orderAutoTopup records a top-up before the card is charged. It records none when another replica did, or when the month's cap is reached.
func (s *Service) orderAutoTopup(ctx context.Context, accountID string) (row topupRow, wanted bool, err error) {
	now := s.now()
	err = postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		a, err := lockAccount(ctx, tx, accountID)
		if err != nil {
			return err
		}
		left, err := balanceOf(ctx, tx, accountID)
		if err != nil {
			return err
		}
		stopped, _, err := frozen(ctx, tx, accountID) // The account may have been frozen or closed since it was selected.
		if err != nil {
			return err
		}
		if stopped || !a.AutoEnabled || a.PaymentMethod == "" || a.CustomerID == "" || left >= a.Threshold {
			return nil
		}
		month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
		var spent int64
		// These cents were or may have been charged to the account's card.
		err = tx.GetContext(ctx, &spent, `
			select coalesce(sum(cents), 0) from topups
			where account_id = $1 and auto and created_at >= $2 and state not in ('FAILED', 'EXPIRED')`, accountID, month)
		if err != nil {
			return err
		}
		if spent+a.AutoCents > a.CapCents {
			next := month.AddDate(0, 1, 0)
			return errors.Join(saveAuto(ctx, tx, a, &next), s.mailMembers(ctx, tx, accountID, capMail(a, spent)))
		}
		due := now.Add(s.o.Waits.Claim)
		row = topupRow{
			ID: s.o.IDs.New("top"), AccountID: accountID, Cents: a.AutoCents, State: Created, Auto: true, Email: a.CustomerEmail,
			CustomerID: a.CustomerID, PaymentMethod: a.PaymentMethod, CreatedAt: now, DueAt: &due,
		}
		row.IdempotencyKey = "auto:" + row.ID
		row, _, err = insertTopup(ctx, tx, row, 0)
		wanted = err == nil
		return err
	})
	if failed, ok := errors.AsType[*pq.Error](err); ok && failed.Code == uniqueViolation {
		return row, false, nil // Another automatic top-up is in progress.
	}
	return row, wanted && err == nil, postgres.StoreError("stripe: order an automatic top-up", err)
}

// charge charges the card for an automatic top-up. Repeating it repeats the same charge at Stripe, not a second one.
func (s *Service) charge(ctx context.Context, row topupRow) error {
	intent, err := s.api.chargeCard(ctx, row)
	if refused := refusal(err); refused != nil {
		f := paymentState{State: Failed, Failure: shorten(refused.Msg)}
		if refused.PaymentIntent != nil {
			f.IntentID = validOrEmpty(refused.PaymentIntent.ID)
		}
		return s.chargeEnded(ctx, row, f)
	}
	switch {
	case isUnavailable(err) || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, errMissing):
		if err := setCard(ctx, s.db, row.CustomerID, ""); err != nil {
			return postgres.StoreError("stripe: forget a card", err)
		}
		return s.chargeEnded(ctx, row, paymentState{State: Failed, Failure: "The saved card is no longer there."})
	case err != nil:
		s.o.Log.Error("stripe rejected charge request", "topup_id", row.ID, "error", err)
		return s.chargeEnded(ctx, row, paymentState{State: Failed, Failure: "The card could not be charged."})
	}
	s.counts.charged.Add(1)
	return s.refresh(ctx, row.ID, eventRef{intent: validOrEmpty(intent.ID)})
}

func (s *Service) chargeEnded(ctx context.Context, row topupRow, f paymentState) error {
	_, err := s.book(ctx, row, f) // A replica that was faster has read the same facts.
	return err
}

// chargeFailed counts a failure, and stops charging the card after too many in a row.
func (s *Service) chargeFailed(ctx context.Context, tx *sqlx.Tx, t topupRow) error {
	a, err := lockAccount(ctx, tx, t.AccountID)
	if err != nil {
		return err
	}
	a.Failures++
	due := s.now().Add(s.o.Waits.Retry << (a.Failures - 1))
	if a.Failures < failuresMax || !a.AutoEnabled {
		return saveAuto(ctx, tx, a, &due)
	}
	was := a
	a.AutoEnabled = false
	a.DisabledReason = fmt.Sprintf("The saved card was refused %d times in a row. %s", a.Failures, t.Failure)
	if err := s.auditAutoTopup(ctx, tx, app.Principal{AccountID: t.AccountID}, was, a); err != nil {
		return err
	}
	return errors.Join(saveAuto(ctx, tx, a, nil), s.mailMembers(ctx, tx, t.AccountID, autoOffMail(a, s.o.BaseURL)))
}

func capMail(a accountRow, spent int64) mail.Message {
	return mail.Message{
		Kind: "auto_topup_cap", Subject: "The monthly cap of automatic top-ups is reached",
		Text: fmt.Sprintf("Your credit is low, but the card was not charged: automatic top-ups have come to $%s this month, "+
			"and you set a cap of $%s.\n\n"+
			"Buy credit on the billing page of the console, or raise the cap there.\n", nanos(spent), nanos(a.CapCents)),
	}
}

func autoOffMail(a accountRow, baseURL string) mail.Message {
	return mail.Message{
		Kind: "auto_topup_off", Subject: "Automatic top-ups are turned off",
		Text: fmt.Sprintf("%s\n\nThe card will not be charged any more. Change it, or buy credit,"+
			" on the billing page and turn automatic top-ups on again:\n%s\n",
			a.DisabledReason, baseURL+"/console/billing"),
	}
}
