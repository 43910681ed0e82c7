package stripe

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"

	"umg/app"
)

const (
	floodDuplicates = 10 // Each event is sent this often.
	floodKinds      = 2  // Each top-up has this many events.
	floodAccounts   = 20
	floodReplicas   = 3
	floodAtOnce     = 12
	floodRound      = 5_000 // The simulated Stripe forgets events older than this many.
)

// TestAFloodOfEventsCreditsWhatWasPaid sends every event ten times, in random order, to three replicas at once. A fifth of
// the checkouts is never paid, although events say so, and a tenth is partly refunded before the first event arrives.
func TestAFloodOfEventsCreditsWhatWasPaid(t *testing.T) {
	t.Parallel()
	h := open(t)
	h.control(http.MethodPut, "webhooks", `{"hold":false,"drop":1000000}`) // The test delivers the events itself.
	replicas := make([]*Service, floodReplicas)
	for i := range replicas {
		replicas[i] = h.service()
	}
	accounts := make([]string, floodAccounts)
	for i := range accounts {
		accounts[i] = h.account()
	}
	want := map[string]int64{}
	for round := range floodEvents / floodRound {
		h.flood(replicas, h.trouble(round, accounts, want))
	}
	for _, account := range accounts {
		h.creditOnly(account, want[account])
	}
	h.books()
	var handled Stats
	for _, s := range replicas {
		handled.Events += s.Stats().Events
		handled.Mismatches += s.Stats().Mismatches
	}
	if handled.Events != floodEvents || handled.Mismatches != 0 {
		t.Errorf("%+v of %d events", handled, floodEvents)
	}
}

// trouble is a round of top-ups with their events in random order. It adds up what each account must have in the end.
func (h *shop) trouble(round int, accounts []string, want map[string]int64) (events []string) {
	h.Helper()
	for i := range floodRound / floodDuplicates / floodKinds {
		account, cents := accounts[i%floodAccounts], int64(500+i%1000)
		top := h.checkoutOf(account, cents)
		session := h.session(top.ID)
		if i%5 != 0 {
			h.pay(top.ID)
			want[account] += cents
			if i%10 == 1 {
				h.control(http.MethodPost, "payments/"+session+"/refund?amount=100", "")
				want[account] -= 100
			}
		}
		for kind := range floodKinds {
			body := told(fmt.Sprintf("evt_%d_%d_%d", round, i, kind), session, map[string]string{
				"type": `"` + []string{"checkout.session.completed", "checkout.session.async_payment_succeeded"}[kind] + `"`,
			})
			for range floodDuplicates {
				events = append(events, body)
			}
		}
	}
	rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	return events
}

// flood sends the events to the replicas concurrently. It sends rejected events again.
func (h *shop) flood(replicas []*Service, events []string) {
	h.Helper()
	next := make(chan string)
	var all sync.WaitGroup
	for i := range floodAtOnce {
		all.Go(func() {
			for body := range next {
				for try := 0; ; try++ {
					header, raw := h.signed(body)
					err := replicas[(i+try)%len(replicas)].Webhook(h.Context(), raw, header)
					if err == nil {
						break
					}
					if app.KindOf(err) != app.Unavailable || try == 20 {
						h.Errorf("%s: %v", body, err)
						break
					}
				}
			}
		})
	}
	for _, body := range events {
		next <- body
	}
	close(next)
	all.Wait()
}

// checkoutOf is checkout for an account that may have many open checkouts.
func (h *shop) checkoutOf(account string, cents int64) Topup {
	h.Helper()
	h.db.MustExec(`update topups set state = 'EXPIRED' where account_id = $1 and state = 'OPEN'`, account)
	return h.checkout(account, cents)
}

func (h *shop) creditOnly(account string, cents int64) {
	h.Helper()
	b, err := h.ledger.Balance(h.Context(), account)
	h.must(err)
	if b.Posted != nanos(cents) {
		h.Errorf("account %s has $%s, want $%s", account, b.Posted, nanos(cents))
	}
}
