package account

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/audit"
	"umg/app/postgres"
)

const (
	limitReasonRunesMax = 1000
	limitAnswerRunesMax = 500
	limitModelBytesMax  = 200
	limitTimesMax       = 1000
	limitRequestsShown  = 200 // requests that operators see
	limitRequestsOwn    = 5   // requests that the account sees
)

// LimitState is how far a request for higher limits is.
type LimitState string

// The states of a request for higher limits.
const (
	LimitOpen     LimitState = "open"
	LimitDone     LimitState = "done"
	LimitDeclined LimitState = "declined"
)

// LimitRequest is what an account asks of the operators about its limits.
type LimitRequest struct {
	ID         string     `db:"id"`
	AccountID  string     `db:"account_id"`
	Account    string     `db:"account"` // the account's name
	Email      string     `db:"email"`   // e-mail address of the user who asked
	Model      string     `db:"model"`   // empty for all models
	FactorThen int        `db:"factor_then"`
	Factor     int        `db:"factor"` // requested multiplier of the default limits
	FactorNow  int        `db:"factor_now"`
	Reason     string     `db:"reason"`
	State      LimitState `db:"state"`
	Answer     string     `db:"answer"`
	AnsweredBy string     `db:"answered_by"`
	CreatedAt  time.Time  `db:"created_at"`
	AnsweredAt *time.Time `db:"answered_at"`
}

// AskLimits asks the operators for so many times what the account has now. An account has one open request at most.
func (s *Service) AskLimits(ctx context.Context, p app.Principal, model string, times int, reason string) (LimitRequest, error) {
	reason = strings.TrimSpace(reason)
	switch {
	case times < 2 || times > limitTimesMax:
		return LimitRequest{}, app.InvalidValue("times", "Choose how much more you need, from 2 to %d times.", limitTimesMax)
	case len(model) > limitModelBytesMax || !app.ValidID(model) && model != "":
		return LimitRequest{}, app.InvalidValue("model", "Choose one of the models, or all of them.")
	case reason == "":
		return LimitRequest{}, app.InvalidValue("reason", "Say in a sentence what you need it for, so that it can be decided.")
	case utf8.RuneCountInString(reason) > limitReasonRunesMax || !app.Storable(reason):
		return LimitRequest{}, app.InvalidValue("reason", "Say it in text of at most %d characters.", limitReasonRunesMax)
	}
	r := LimitRequest{
		ID: s.o.IDs.New("lreq"), AccountID: p.AccountID, Model: model, Reason: reason, State: LimitOpen, CreatedAt: s.o.Now().UTC(),
	}
	err := s.manage(ctx, p, app.ManageAccount, func(d memberChange) error {
		var err error
		if r, err = insertLimitRequest(ctx, d.tx, r, p.UserID, times); errors.Is(err, sql.ErrNoRows) {
			return app.Errorf(app.Conflict, "limit_request_open", "A request of this account is open already. It is answered first.")
		}
		if err != nil {
			return err
		}
		return s.audit.Write(ctx, d.tx, p, audit.Event{Action: "account.limits_requested", Changes: []audit.Change{
			{Field: "limit_factor", From: strconv.Itoa(r.FactorThen), To: strconv.Itoa(r.Factor)}, {Field: "model", To: model},
		}})
	})
	return r, postgres.StoreError("account: ask for limits", err)
}

// LimitRequests are the latest requests of an account, the newest first.
func (s *Service) LimitRequests(ctx context.Context, accountID string) ([]LimitRequest, error) {
	list, err := selectLimitRequests(ctx, s.db, accountID, false, limitRequestsOwn)
	return list, postgres.StoreError("account: read requests for limits", err)
}

// AllLimitRequests are the latest requests of all accounts, for operators: open ones first.
func (s *Service) AllLimitRequests(ctx context.Context) ([]LimitRequest, error) {
	list, err := selectLimitRequests(ctx, s.db, "", true, limitRequestsShown)
	return list, postgres.StoreError("account: read requests for limits", err)
}

// FindLimitRequest returns one request, for operators.
func (s *Service) FindLimitRequest(ctx context.Context, id string) (LimitRequest, error) {
	r, err := postgres.Get[LimitRequest](ctx, s.db, limitRequestsFrom+`where r.id = $1`, id)
	if errors.Is(err, sql.ErrNoRows) {
		err = app.Errorf(app.NotFound, "limit_request_not_found", "There is no such request.")
	}
	return r, postgres.StoreError("account: read a request for limits", err)
}

// AnswerLimits is an operator's answer to a request. It changes no limit: SetLimitFactor does.
func (s *Service) AnswerLimits(ctx context.Context, operator User, from app.Origin, id string, state LimitState, answer string) error {
	answer = strings.TrimSpace(answer)
	switch {
	case state != LimitDone && state != LimitDeclined:
		return app.InvalidValue("state", "The answer is %s or %s.", LimitDone, LimitDeclined)
	case utf8.RuneCountInString(answer) > limitAnswerRunesMax || !app.Storable(answer):
		return app.InvalidValue("answer", "The answer must be text of at most %d characters.", limitAnswerRunesMax)
	case !operator.Operator:
		return app.Errorf(app.NotFound, "not_found", "There is no such request.")
	}
	err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
		accountID, err := postgres.Get[string](ctx, tx, `
			update limit_requests set state = $2, answer = $3, answered_by = $4, answered_at = $5 where id = $1 and state = 'open'
			returning account_id`, id, string(state), answer, operator.Email, s.o.Now().UTC())
		if errors.Is(err, sql.ErrNoRows) {
			return app.Errorf(app.NotFound, "limit_request_not_found", "There is no such request, or it was answered already.")
		}
		if err != nil {
			return err
		}
		who := app.Principal{AccountID: accountID, From: from}
		return s.audit.Write(ctx, tx, who, audit.Event{Action: "account.limits_answered", Operator: true, Changes: []audit.Change{
			{Field: "state", From: string(LimitOpen), To: string(state)},
		}})
	})
	return postgres.StoreError("account: answer a request for limits", err)
}

// insertLimitRequest adds a request unless one is open. It answers with the factors of then.
func insertLimitRequest(ctx context.Context, q postgres.Queryer, r LimitRequest, userID string, times int) (LimitRequest, error) {
	err := q.QueryRowxContext(ctx, `
		insert into limit_requests (id, account_id, user_id, email, model, factor_then, factor, reason, state, created_at)
		select $1, a.id, $3, coalesce((select u.email from users u where u.id = $3), ''), $4, a.limit_factor,
			least(a.limit_factor::bigint * $5, $8)::integer, $6, 'open', $7
		from accounts a where a.id = $2
		on conflict (account_id) where state = 'open' do nothing
		returning email, factor_then, factor`,
		r.ID, r.AccountID, userID, r.Model, times, r.Reason, r.CreatedAt, limitFactorMax).Scan(&r.Email, &r.FactorThen, &r.Factor)
	return r, err
}

// selectLimitRequests lists the requests of one account, or of all accounts.
func selectLimitRequests(
	ctx context.Context, q postgres.Queryer, accountID string, all bool, limit int,
) ([]LimitRequest, error) {
	return postgres.Select[LimitRequest](ctx, q, limitRequestsFrom+
		`where $2 or r.account_id = $1 order by r.state = 'open' desc, r.created_at desc limit $3`, accountID, all, limit)
}

const limitRequestsFrom = `
	select r.id, r.account_id, a.name as account, r.email, r.model, r.factor_then, r.factor, a.limit_factor as factor_now, r.reason,
		r.state, r.answer, r.answered_by, r.created_at, r.answered_at
	from limit_requests r join accounts a on a.id = r.account_id `
