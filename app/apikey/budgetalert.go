package apikey

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"umg/app"
	"umg/app/audit"
	"umg/app/mail"
	"umg/app/postgres"
	"umg/billing"
)

const (
	budgetAlertsMax  = 8 // A key has at most this many alerts.
	budgetAlertEvery = time.Minute
	budgetAlertBatch = 50 // One transaction has at most this many budgets.
	budgetAlertTurns = 20 // A round has at most this many transactions, so that other work gets its turn.
	budgetWhole      = 100
	budgetPeopleMax  = 20 // An alert goes to at most this many addresses.

	// budgetEvent is the event in the preferences of members.
	budgetEvent = "key_budget"
)

// StandardBudgetAlerts are the default shares of a budget, in hundredths, at which the gateway sends budget alerts.
func StandardBudgetAlerts() []int { return []int{80, 100} }

// checkAlerts brings the alerts of a new or changed key into order. Nil is the usual ones, an empty list none.
func (spec *Spec) checkAlerts() error {
	if spec.BudgetAlerts == nil {
		spec.BudgetAlerts = StandardBudgetAlerts()
	}
	list := slices.Clone(spec.BudgetAlerts)
	slices.Sort(list)
	list = slices.Compact(list)
	for _, share := range list {
		if share < 1 || share > budgetWhole {
			return app.InvalidValue("budget_alerts", "An alert is a share of the budget in percent, a whole number from 1 to %d.", budgetWhole)
		}
	}
	if len(list) > budgetAlertsMax {
		return app.InvalidValue("budget_alerts", "A budget has at most %d alerts.", budgetAlertsMax)
	}
	spec.BudgetAlerts = list
	return nil
}

// alertWords are alerts as people read them.
func alertWords(list []int) string {
	words := make([]string, len(list))
	for i, share := range list {
		words[i] = strconv.Itoa(share) + "%"
	}
	return strings.Join(words, ", ")
}

// alertsOf returns the alerts in a change, or an empty list when the change sets none.
func alertsOf(list []int) audit.Change {
	c := audit.Change{Field: "budget_alerts", From: alertWords(list)}
	switch {
	case list == nil || slices.Equal(list, StandardBudgetAlerts()):
		c.From = ""
	case len(list) == 0:
		c.From = "none"
	}
	return c
}

// passedBudget is a budget of which more was spent, or less again, than its people were told last.
type passedBudget struct {
	KeyID     string         `db:"key_id"`
	AccountID string         `db:"account_id"`
	Name      string         `db:"name"`
	LastFour  string         `db:"last_four"`
	Maker     string         `db:"created_by"`
	Limit     app.Amount     `db:"limit_nanos"`
	Spent     app.Amount     `db:"spent_nanos"`
	Period    billing.Period `db:"period"`
	Start     time.Time      `db:"period_start"`
	Reached   int            `db:"reached"` // Reached is the highest alert that the spend has passed; zero for none.
	Told      int            `db:"told"`    // Told is the Reached that was recorded last in this period; zero for none.
}

// sendBudgetAlerts tells the people of budgets whose spending has passed one of their alerts: once each in a period, or again when a
// limit was raised and is passed again. Of several that are passed at once they hear the highest. Replicas may look at the same
// time: each budget is one's alone, and a mail is sent if what was told is kept, and not otherwise.
func (s *Service) sendBudgetAlerts(ctx context.Context) error {
	defer postgres.TakeTurn(ctx)()
	for range budgetAlertTurns {
		passed := 0
		err := postgres.InTx(ctx, s.db, func(tx *sqlx.Tx) error {
			rows, err := lockPassedBudgets(ctx, tx, budgetAlertBatch)
			passed = len(rows)
			for _, b := range rows {
				if err == nil && b.Reached > b.Told && s.o.Mail != nil {
					err = s.notifyBudget(ctx, tx, b)
				}
				if err == nil {
					err = postgres.Exec(ctx, tx, `
						update key_budgets set alerted = $3, alerted_start = $4 where account_id = $1 and key_id = $2`,
						b.AccountID, b.KeyID, b.Reached, b.Start)
				}
			}
			return err
		})
		if err != nil || passed < budgetAlertBatch {
			return err
		}
	}
	return nil
}

// notifyBudget writes to owners and admins, and to the user who made the key.
func (s *Service) notifyBudget(ctx context.Context, tx *sqlx.Tx, b passedBudget) error {
	// Members who chose no mails about budgets, and a maker who is no longer a member, get none.
	people, err := postgres.Select[string](ctx, tx, `
		select u.email from memberships m join users u on u.id = m.user_id
		where m.account_id = $1 and (m.role = any($2) or u.id = $3) and not exists (
			select 1 from notification_preferences c
			where c.user_id = u.id and c.account_id = m.account_id and c.event = $4 and not c.by_mail)
		order by m.created_at, u.id limit $5`,
		b.AccountID, pq.Array([]app.Role{app.RoleOwner, app.RoleAdmin}), b.Maker, budgetEvent, budgetPeopleMax)
	if err != nil {
		return err
	}
	letter, subject := b.letter(s.o.BaseURL)
	return mail.SendAll(ctx, tx, s.o.Mail, s.o.Log, mail.Broadcast{
		Letter: letter, Subject: subject, Kind: budgetEvent, To: people, About: slog.String("key_id", b.KeyID),
	})
}

func (b passedBudget) letter(baseURL string) (l mail.Template, subject string) {
	said, then := fmt.Sprintf("has spent %d%% of its budget", b.Reached), "Calls beyond its budget are refused."
	if b.Reached == budgetWhole {
		said, then = "has spent its budget", "Its calls are refused from now on."
	}
	next := "The budget is not refilled: raise it, or take it away, when the key shall go on."
	if at := b.Period.Next(b.Start); at != nil {
		next = "The budget is refilled on " + at.UTC().Format("2 January 2006") + " at midnight UTC."
	}
	return mail.Template{
		Title: "A key " + said,
		Paragraphs: []string{
			fmt.Sprintf("The key %s (it ends in %s) %s: $%s of $%s. %s", mail.Quote(b.Name), b.LastFour, said, b.Spent, b.Limit, then),
			next, mail.WrittenBy("members of the account"),
		},
		Action: mail.Action{Label: "Open the key", URL: baseURL + "/console/keys/" + b.KeyID},
		Footer: "You get this message as an owner or admin of the account, or because you made the key. " +
			"Choose your mails in the console under Settings, Notifications.",
	}, "The key " + mail.Quote(b.Name) + " " + said
}

// lockPassedBudgets reads budgets whose people were told something else than what is true of them, and keeps them for the
// transaction. Those that another replica has are left to it.
func lockPassedBudgets(ctx context.Context, q postgres.Queryer, limit int) ([]passedBudget, error) {
	return postgres.Select[passedBudget](ctx, q, `
		select b.key_id, b.account_id, k.name, k.last_four, coalesce(k.created_by, '') as created_by, b.limit_nanos, b.spent_nanos, b.period,
			b.period_start, r.reached, t.told
		from key_budgets b join api_keys k on k.id = b.key_id and k.deleted_at is null
			cross join lateral (
				select coalesce(max(a), 0) as reached from unnest(k.budget_alerts) a
				where b.spent_nanos::numeric * 100 >= b.limit_nanos::numeric * a) r
			cross join lateral (select case when b.alerted_start = b.period_start then b.alerted else 0 end as told) t
		where r.reached <> t.told
		order by b.key_id limit $1 for no key update of b skip locked`, limit)
}
