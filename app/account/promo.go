package account

import (
	"context"
	"database/sql"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
	"umg/billing"
)

// These are limits of promotion codes.
const (
	promoReasonRunesMax = 200
	promoTimesMax       = 1_000_000
	promoDaysMax        = 3650
	PromosListed        = 500 // Operators see this many of the latest codes.
	promoAmountMax      = 100_000 * app.Dollar
	promoMadeBytes      = 8
	promoMadeLength     = 12 // A code of 60 bits is too long to guess.
)

// These limits slow down guesses of codes: by an account, and from one address for any account.
var (
	promoAccount = rule{scope: "promo_account", free: 8, first: 2 * time.Second, most: time.Hour, window: 24 * time.Hour}
	promoIP      = rule{scope: "promo_ip", free: 20, first: 2 * time.Second, most: time.Hour, window: 24 * time.Hour}
)

// promoForm is a code without what people type between its letters.
var promoForm = regexp.MustCompile(`^[A-Z0-9]{6,40}$`)

const promoColumns = `code, amount_nanos, redemptions_max, redeemed, credit_days, reason, created_by, created_at, expires_at, ended_by`

// Promo is a code that gives credit to every account that redeems it, once each.
type Promo struct {
	Code      string     `db:"code"`
	Amount    app.Amount `db:"amount_nanos"`
	Times     int        `db:"redemptions_max"` // Times is how often the code can be redeemed in total.
	Redeemed  int        `db:"redeemed"`
	Days      int        `db:"credit_days"` // Days is the validity of the credit; 0 means that it does not expire.
	Reason    string     `db:"reason"`
	CreatedBy string     `db:"created_by"`
	CreatedAt time.Time  `db:"created_at"`
	ExpiresAt time.Time  `db:"expires_at"` // ExpiresAt ends the code, not the credit that it gave.
	EndedBy   string     `db:"ended_by"`   // EndedBy is the operator who ended the code early; it is empty otherwise.
}

// Redeemed is what a code gave.
type Redeemed struct {
	Amount    app.Amount
	ExpiresAt *time.Time
}

// codeOf is a code as it is kept, empty for what cannot be one.
func codeOf(typed string) string {
	code := strings.ToUpper(strings.NewReplacer("-", "", " ", "", "_", "").Replace(strings.TrimSpace(typed)))
	if !promoForm.MatchString(code) {
		return ""
	}
	return code
}

// CreatePromo makes a code that operators hand out.
func (s *Service) CreatePromo(ctx context.Context, p Promo) (Promo, error) {
	p.Code, p.CreatedAt = codeOf(p.Code), s.o.Now().UTC()
	switch {
	case p.Code == "":
		return Promo{}, app.InvalidValue("code", "A code is 6 to 40 letters A to Z and digits; dashes and spaces do not count.")
	case p.Amount <= 0 || p.Amount > promoAmountMax:
		return Promo{}, app.InvalidValue("amount", "A code gives more than $0 and at most $%s.", promoAmountMax)
	case p.Times < 1 || p.Times > promoTimesMax:
		return Promo{}, app.InvalidValue("times", "A code is redeemed 1 to 1,000,000 times.")
	case p.Days < 0 || p.Days > promoDaysMax:
		return Promo{}, app.InvalidValue("days", "The credit lasts 1 to 3,650 days; 0 means that it never expires.")
	case !p.ExpiresAt.After(p.CreatedAt):
		return Promo{}, app.InvalidValue("until", "The code ends in the past.")
	case utf8.RuneCountInString(p.Reason) > promoReasonRunesMax || !app.Storable(p.Reason):
		return Promo{}, app.InvalidValue("reason", "What it is for must be text of at most %d characters.", promoReasonRunesMax)
	}
	made, err := postgres.Changed(s.db.ExecContext(ctx, `
		insert into promo_codes (code, amount_nanos, redemptions_max, credit_days, reason, created_by, created_at, expires_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (code) do nothing`,
		p.Code, int64(p.Amount), p.Times, p.Days, p.Reason, p.CreatedBy, p.CreatedAt, p.ExpiresAt.UTC()))
	if err == nil && !made {
		err = app.Errorf(app.Conflict, "promo_exists", "There is a code %s already.", p.Code).At("code")
	}
	return p, postgres.StoreError("account: make promotion code", err)
}

// Promos are the latest codes, for operators.
func (s *Service) Promos(ctx context.Context) ([]Promo, error) {
	list, err := postgres.Select[Promo](ctx, s.db, `
		select `+promoColumns+` from promo_codes order by created_at desc, code limit $1`, PromosListed)
	return list, postgres.StoreError("account: read promotion codes", err)
}

// FindPromo is the code that is written so, whether it has ended or not.
func (s *Service) FindPromo(ctx context.Context, typed string) (Promo, error) {
	p, err := postgres.Get[Promo](ctx, s.db, `select `+promoColumns+` from promo_codes where code = $1`, codeOf(typed))
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoPromo()
	}
	return p, postgres.StoreError("account: read promotion code", err)
}

// NewPromoCode returns a new random code that cannot be guessed.
func (s *Service) NewPromoCode() (string, error) {
	raw := make([]byte, promoMadeBytes)
	if _, err := io.ReadFull(s.o.Random, raw); err != nil {
		return "", fmt.Errorf("account: make promotion code: %w", err)
	}
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(raw)[:promoMadeLength], nil
}

// EndPromo ends a code now. What it gave stays. Who did it is kept unless the code had ended already.
func (s *Service) EndPromo(ctx context.Context, typed, by string) error {
	found, err := postgres.Changed(s.db.ExecContext(ctx, `
		update promo_codes set ended_by = case when expires_at > $2 then $3 else ended_by end, expires_at = least(expires_at, $2)
		where code = $1`, codeOf(typed), s.o.Now().UTC(), by))
	if err == nil && !found {
		err = errNoPromo()
	}
	return postgres.StoreError("account: end promotion code", err)
}

// RedeemPromo adds the credit of a code to the account: once for each account, and never more often than the code may be redeemed.
func (s *Service) RedeemPromo(ctx context.Context, p app.Principal, typed string) (got Redeemed, err error) {
	code := codeOf(typed)
	if code == "" {
		return Redeemed{}, app.InvalidValue("code", "Enter the code as you got it: letters and digits.")
	}
	if err := s.throttle.admit(ctx, promoAccount.of(p.AccountID), promoIP.of(placeOf(p.From.IP))); err != nil {
		return Redeemed{}, postgres.StoreError("account: count codes", err)
	}
	err = s.manage(ctx, p, app.ManageMoney, func(d memberChange) error {
		got, err = s.givePromo(ctx, d.tx, p, code)
		return err
	})
	return got, postgres.StoreError("account: redeem promotion code", err)
}

// givePromo holds the code's row, so that redemptions of one code wait for each other and are counted.
func (s *Service) givePromo(ctx context.Context, tx *sqlx.Tx, p app.Principal, code string) (Redeemed, error) {
	now := s.o.Now().UTC()
	one, err := postgres.Get[Promo](ctx, tx, `select `+promoColumns+` from promo_codes where code = $1 for update`, code)
	switch {
	case errors.Is(err, sql.ErrNoRows) || err == nil && !now.Before(one.ExpiresAt):
		return Redeemed{}, errNoPromo()
	case err != nil:
		return Redeemed{}, err
	}
	first, err := postgres.Changed(tx.ExecContext(ctx, `
		insert into promo_redemptions (code, account_id, user_id, redeemed_at) values ($1, $2, $3, $4) on conflict do nothing`,
		code, p.AccountID, p.UserID, now))
	switch {
	case err != nil:
		return Redeemed{}, err
	case !first:
		return Redeemed{}, app.Errorf(app.Conflict, "promo_redeemed", "This account has redeemed the code already.").At("code")
	case one.Redeemed >= one.Times:
		return Redeemed{}, app.Errorf(app.Conflict, "promo_used_up", "The code was redeemed as often as it can be.").At("code")
	}
	if err := postgres.Exec(ctx, tx, `update promo_codes set redeemed = redeemed + 1 where code = $1`, code); err != nil {
		return Redeemed{}, err
	}
	g := billing.Grant{
		AccountID: p.AccountID, Kind: billing.Promotional, Amount: one.Amount, Source: "promo:" + code + ":" + p.AccountID,
		Reason: "promotion code " + code,
	}
	if one.Days > 0 {
		g.ExpiresAt = new(now.AddDate(0, 0, one.Days))
	}
	if err := s.ledger.Grant(ctx, tx, g); err != nil {
		return Redeemed{}, err
	}
	return Redeemed{one.Amount, g.ExpiresAt}, s.audit.Write(ctx, tx, p, audit.Event{Action: "billing.promo_redeemed", Changes: []audit.Change{
		{Field: "code", To: code}, {Field: "amount", To: "$" + one.Amount.String()},
	}})
}

func errNoPromo() error {
	return app.Errorf(app.NotFound, "promo_not_found", "There is no such code, or it has ended.").At("code")
}
