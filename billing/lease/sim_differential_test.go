package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres/pgtest"
	"umg/billing"
	"umg/billing/journal"
)

// pair is the real database beside the simulated one.
type pair struct {
	t              *testing.T
	r              *mathrand.Rand
	db             *sqlx.DB
	sql            *SQLStore
	ledger         *billing.Ledger
	model          *books
	creditAccounts []string
	runs           []Replica // These epochs were registered, and some have ended.
	asked          int
	sent           [][]byte
}

func openPair(t *testing.T, db *sqlx.DB, seed uint64) *pair {
	t.Helper()
	ids := app.IDs{Now: time.Now, Random: rand.Reader}
	p := &pair{t: t, r: mathrand.New(mathrand.NewPCG(seed, 3)), db: db, sql: OpenBank(db, time.Now, ids), model: newBooks()}
	ledger := billing.NewLedger(db, billing.Options{Now: time.Now, IDs: ids, Log: slog.New(slog.DiscardHandler)})
	p.ledger = ledger
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		account, key := fmt.Sprintf("acc_%d_%d", seed, i), fmt.Sprintf("key_%d_%d", seed, i)
		exact, credit, limit := i == 1, app.Amount(p.r.IntN(100_000)), app.Amount(1+p.r.IntN(9000))
		must(ledger.OpenAccount(t.Context(), db, account))
		must(ledger.Grant(t.Context(), db, billing.Grant{AccountID: account, Kind: billing.Purchased, Amount: credit + 1, Source: account}))
		must(ledger.OpenBudget(t.Context(), db, billing.Budget{KeyID: key, AccountID: account, Limit: limit, Period: billing.InTotal}))
		_, err := db.ExecContext(t.Context(), `update credit_accounts set return_immediately = $2 where id = $1`, account, exact)
		must(err)
		p.model.open(account, false, exact)
		p.model.grant(account, credit+1, 0)
		p.model.open(key, true, false)
		p.model.grant(key, limit, 0)
		p.creditAccounts = append(p.creditAccounts, account, key)
	}
	return p
}

// outcome is an answer without the parts in which both may differ, such as the text of an error.
func outcome(answer any, err error) string {
	var short *InsufficientCredit
	switch {
	case err == nil:
		return fmt.Sprintf("%+v", answer)
	case errors.As(err, &short):
		return fmt.Sprintf("short: %+v", *short)
	case errors.Is(err, ErrFenced):
		return "fenced"
	}
	return "refused: " + fmt.Sprint(app.KindOf(err))
}

// step asks both databases the same.
func (p *pair) step() {
	ctx := p.t.Context()
	name := fmt.Sprintf("rep_%s_%d", p.creditAccounts[0], p.r.IntN(2))
	if len(p.runs) == 0 || p.r.IntN(12) == 0 {
		p.same("register", func(b registered) (any, error) { return b.Register(ctx, name) })
		return
	}
	run := p.runs[p.r.IntN(len(p.runs))]
	if p.r.IntN(4) > 0 {
		run = p.runs[len(p.runs)-1]
	}
	creditAccountID := p.creditAccounts[p.r.IntN(len(p.creditAccounts))]
	amount := app.Amount(p.r.IntN(3000))
	switch p.r.IntN(15) {
	case 0:
		p.same("renew", func(b registered) (any, error) { return 0, b.Renew(ctx, run) })
	case 1, 2, 3, 4:
		a := TakeRequest{CreditAccountID: creditAccountID, Need: amount, Want: amount * app.Amount(p.r.IntN(5))}
		p.same("take", func(b registered) (any, error) { return b.Take(ctx, run, a) })
	case 5, 6:
		p.same("return", func(b registered) (any, error) { return b.Return(ctx, run, creditAccountID, amount*4) })
	case 7, 8, 9, 10:
		batch := p.batch(run)
		p.same("apply", func(b registered) (any, error) { return b.Apply(ctx, run, batch) })
	case 11:
		p.same("retire", func(b registered) (any, error) { return 0, b.Retire(ctx, run) })
	case 12:
		p.same("end", func(b registered) (any, error) { return 0, b.End(ctx, run) })
	case 13:
		p.silence(run)
	case 14:
		p.restrict(p.creditAccounts[2*p.r.IntN(2)], app.Amount(p.r.IntN(9000)))
	}
}

// restrict sets or removes an account's spend limit.
func (p *pair) restrict(account string, to app.Amount) {
	p.t.Helper()
	set := p.ledger.CloseSpendLimit(p.t.Context(), p.db, account)
	if to > 2000 {
		set = p.ledger.SetSpendLimit(p.t.Context(), p.db, account, to, billing.EachMonth)
	}
	limit, err := p.ledger.AccountSpendLimit(p.t.Context(), account)
	if set != nil || err != nil {
		p.t.Fatal(set, err)
	}
	if spent := p.model.creditAccounts[account].spent; limit.Set() && limit.Spent != spent { // Spend from before the limit was set counts too.
		p.t.Fatalf("%s has spent %d under its limit, want %d", account, limit.Spent, spent)
	}
	limit.Spent, limit.Held = 0, 0
	p.model.creditAccounts[account].restrict(limit)
}

// silence makes a replica seem lost and reaps it.
func (p *pair) silence(run Replica) {
	ctx := p.t.Context()
	if _, err := p.db.ExecContext(ctx, `update replicas set heartbeat_at = now() - interval '2 hours' where id = $1`, run.ID); err != nil {
		p.t.Fatal(err)
	}
	p.model.replicas[run.ID].heartbeat = p.model.now - 2*time.Hour
	p.same("reap", func(b registered) (any, error) { return b.Reap(ctx, time.Hour) })
	p.same("marks", func(b registered) (any, error) {
		marks, err := b.Marks(ctx, run)
		var ids []string
		for _, data := range marks {
			if one, err := billing.DecodeSettlement(data); err == nil && slices.Contains(p.creditAccounts, one.Hold.AccountID) {
				ids = append(ids, one.Hold.ID)
			}
		}
		slices.Sort(ids)
		return ids, err
	})
}

// batch has new and old records, with a correct cursor, a wrong one, or none.
func (p *pair) batch(run Replica) (b Batch) {
	for range p.r.IntN(4) {
		if len(p.sent) > 0 && p.r.IntN(5) == 0 {
			b.Records = append(b.Records, p.sent[p.r.IntN(len(p.sent))])
			continue
		}
		p.asked++
		i := p.r.IntN(2)
		h := billing.Hold{ID: fmt.Sprintf("req_%s_%d", p.creditAccounts[0], p.asked), AccountID: p.creditAccounts[2*i], Epoch: run.Epoch, Amount: app.Amount(p.r.IntN(2000))}
		if p.r.IntN(2) == 0 {
			h.BudgetID = p.creditAccounts[2*i+1]
		}
		s := billing.Settlement{Cost: app.Amount(p.r.IntN(2200)), Record: billing.UsageRecord{Model: "m", Outcome: "succeeded", Reason: "completed"}}
		data := s.Encode(h, run.ID, time.Now())
		if p.r.IntN(6) == 0 {
			b.Marks = append(b.Marks, data)
		} else {
			b.Records = append(b.Records, data)
			p.sent = append(p.sent, data)
		}
	}
	if p.r.IntN(2) == 0 {
		b.From = p.model.replicas[run.ID].applied
		if p.r.IntN(8) == 0 {
			b.From++
		}
		b.To = b.From + journal.LSN(1+len(b.Records))
		b.Open, b.Marks = b.To, nil
	}
	return b
}

// registered is every method of the database.
type registered interface {
	Store
	ReplicaStore
}

// same asks both databases and compares the answers and the balances.
func (p *pair) same(what string, ask func(registered) (any, error)) {
	p.t.Helper()
	given, err := ask(p.sql)
	expected, failed := ask(p.model)
	if start, is := expected.(Start); is && failed == nil {
		p.runs = append(p.runs, start.Replica)
	}
	if got, want := outcome(given, err), outcome(expected, failed); got != want {
		p.t.Fatalf("%s: the database says %s (%v), the model %s", what, got, err, want)
	}
	got := map[string]billing.Balance{}
	want := map[string]billing.Balance{}
	for _, id := range p.creditAccounts {
		var b billing.Balance
		if err := p.db.GetContext(p.t.Context(), &b, `select posted_nanos, held_nanos from credit_accounts where id = $1`, id); err != nil {
			p.t.Fatal(err)
		}
		got[id], want[id] = b, billing.Balance{Posted: p.model.creditAccounts[id].posted, Held: p.model.creditAccounts[id].held}
	}
	if !reflect.DeepEqual(got, want) {
		p.t.Fatalf("after %s: the database has %+v, the model %+v", what, got, want)
	}
}

func TestTheSimulatedBooksAnswerAsTheDatabaseDoes(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	for seed := range uint64(differentialSeeds) {
		p := openPair(t, db, seed)
		for range differentialSteps {
			p.step()
		}
		if err := p.model.check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	checks, err := billing.Books(context.Background(), db)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		if !c.Holds {
			t.Errorf("%s: %s", c.Name, c.Detail)
		}
	}
}

const (
	differentialSeeds = 6
	differentialSteps = 120
)
