package lease

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"umg/app"
	"umg/billing"
	"umg/billing/journal"
)

// books is the simulated database: the same transactions as the SQL, in memory and one after the other.
type books struct {
	creditAccounts map[string]*creditAccount
	replicas       map[string]*replicaRow
	leases         map[leaseKey]*leaseLine
	records        map[string]record
	marks          map[string]mark
	overrun        app.Amount // The platform bears this loss.
	charged        map[string]app.Amount
	now            time.Duration
	careless       bool // In this negative control neither the cursor nor request ids prevent a second charge.
}

type creditAccount struct {
	posted, held app.Amount
	exact        bool
	frozen       bool
	budget       bool
	grants       []grant // Grants are drawn in this order.
	limit        billing.SpendLimit
	spent        app.Amount // This was spent in the limit's period, which is longer than any simulation.
	// This is the most that may be spent and held under the limit. It exceeds a limit that was lowered or paid late.
	allowed app.Amount
}

// restrict sets, changes or removes an account's spend limit.
func (p *creditAccount) restrict(limit billing.SpendLimit) {
	p.limit, p.allowed = limit, max(limit.Limit, p.spent+p.held)
}

// sum is what may be held of the account, and the limit when that leaves less than the balance.
func (p *creditAccount) sum() (app.Amount, billing.SpendLimit) {
	if left := max(p.held, p.limit.Limit-p.spent); p.limit.Set() && left < p.posted {
		return left, p.limit
	}
	return p.posted, billing.SpendLimit{}
}

type grant struct {
	amount, remaining app.Amount
	expires           time.Duration // Zero means that the grant never expires.
}

type replicaRow struct {
	epoch           int64
	state           string
	heartbeat       time.Duration
	applied, opened journal.LSN
}

type leaseKey struct {
	replica         string
	epoch           int64
	creditAccountID string
}

type leaseLine struct {
	granted, returned, spent app.Amount
	state                    string
	recalled                 bool
}

func (l leaseLine) remaining() app.Amount { return l.granted - l.returned - l.spent }

type record struct {
	account, budget, replica string
	epoch                    int64
	reserved, cost, overrun  app.Amount
	reason                   string
	times                    int
}

type mark struct {
	replica string
	epoch   int64
	data    []byte
}

func newBooks() *books {
	return &books{
		creditAccounts: map[string]*creditAccount{}, replicas: map[string]*replicaRow{}, leases: map[leaseKey]*leaseLine{},
		records: map[string]record{}, marks: map[string]mark{}, charged: map[string]app.Amount{},
	}
}

// clone makes a backup.
func (b *books) clone() *books {
	c := newBooks()
	for id, p := range b.creditAccounts {
		copied := *p
		copied.grants = slices.Clone(p.grants)
		c.creditAccounts[id] = &copied
	}
	for id, r := range b.replicas {
		copied := *r
		c.replicas[id] = &copied
	}
	for k, l := range b.leases {
		copied := *l
		c.leases[k] = &copied
	}
	c.records, c.marks, c.charged = maps.Clone(b.records), maps.Clone(b.marks), maps.Clone(b.charged)
	c.overrun, c.now, c.careless = b.overrun, b.now, b.careless
	return c
}

func (b *books) open(id string, budget, exact bool) {
	b.creditAccounts[id] = &creditAccount{budget: budget, exact: exact}
}

func (b *books) grant(id string, amount app.Amount, expires time.Duration) {
	p := b.creditAccounts[id]
	p.posted += amount
	if !p.budget {
		p.grants = append(p.grants, grant{amount, amount, expires})
		slices.SortStableFunc(p.grants, func(a, b grant) int {
			return cmp.Compare(cmp.Or(a.expires, 1<<62), cmp.Or(b.expires, 1<<62))
		})
	}
}

// expire takes back the free part of grants that have expired.
func (b *books) expire(id string) {
	p := b.creditAccounts[id]
	for i := range p.grants {
		g := &p.grants[i]
		if g.expires == 0 || g.expires > b.now {
			continue
		}
		less := min(g.remaining, p.posted-p.held)
		g.remaining -= less
		p.posted -= less
	}
}

func (b *books) Renew(_ context.Context, r Replica) error {
	row := b.replicas[r.ID]
	if row == nil || row.epoch != r.Epoch || row.state != "live" {
		return ErrFenced
	}
	row.heartbeat = b.now
	return nil
}

func (b *books) live(r Replica) bool {
	row := b.replicas[r.ID]
	return row != nil && row.epoch == r.Epoch && row.state == "live"
}

func (p *creditAccount) row(l *leaseLine, id string) LeaseState {
	return LeaseState{CreditAccountID: id, Granted: l.granted, Returned: l.returned, Spent: l.spent, Free: p.posted - p.held, ReturnImmediately: p.exact}
}

func (b *books) Take(_ context.Context, r Replica, a TakeRequest) (LeaseState, error) {
	p := b.creditAccounts[a.CreditAccountID]
	switch {
	case a.Need < 0:
		return LeaseState{}, errors.New("lease: take less than nothing")
	case !b.live(r):
		return LeaseState{}, ErrFenced
	case p == nil:
		return LeaseState{}, fmt.Errorf("lease: take: there is no credit account %s", a.CreditAccountID)
	case p.frozen:
		return LeaseState{}, app.Errorf(app.Forbidden, "account_frozen", "This account is frozen.").Final()
	}
	sum, limit := p.sum()
	free := sum - p.held
	if free < a.Need {
		short := &InsufficientCredit{Balance: billing.Balance{Posted: sum, Held: p.held}, Elsewhere: b.recall(r, a.CreditAccountID), Limit: limit}
		if p.budget {
			short.Period = billing.InTotal // All budgets of this model are in total.
		}
		return LeaseState{}, short
	}
	grant := max(a.Need, min(max(a.Need, a.Want), free/2))
	exact := p.exact || (free-grant)/20 < a.Need
	if exact {
		grant = a.Need
	}
	key := leaseKey{r.ID, r.Epoch, a.CreditAccountID}
	l := b.leases[key]
	switch {
	case l == nil:
		l = &leaseLine{state: "open"}
		b.leases[key] = l
	case l.state != "open":
		return LeaseState{}, ErrFenced
	}
	l.granted += grant
	p.held += grant
	row := p.row(l, a.CreditAccountID)
	row.Free, row.ReturnImmediately = sum-p.held, exact
	return row, nil
}

// recall asks the other holders of a credit account to return credit.
func (b *books) recall(r Replica, creditAccountID string) (elsewhere bool) {
	for k, l := range b.leases {
		if k.creditAccountID == creditAccountID && l.state == "open" && l.remaining() > 0 && (k.replica != r.ID || k.epoch != r.Epoch) {
			l.recalled, elsewhere = true, true
		}
	}
	return elsewhere
}

func (b *books) Return(_ context.Context, r Replica, id string, total app.Amount) (LeaseState, error) {
	l, p := b.leases[leaseKey{r.ID, r.Epoch, id}], b.creditAccounts[id]
	if l == nil || l.state != "open" || !b.live(r) {
		return LeaseState{}, ErrFenced
	}
	back := min(max(total-l.returned, 0), l.remaining())
	l.returned += back
	l.recalled = false
	p.held -= back
	return p.row(l, id), nil
}

func (b *books) Recalled(_ context.Context, r Replica) (ids []string, err error) {
	for k, l := range b.leases {
		if k.replica == r.ID && k.epoch == r.Epoch && l.recalled {
			ids = append(ids, k.creditAccountID)
		}
	}
	return ids, nil
}

func (b *books) Apply(_ context.Context, r Replica, batch Batch) (journal.LSN, error) {
	var applied journal.LSN
	records := make([]billing.JournaledSettlement, len(batch.Records))
	for i, data := range batch.Records {
		var err error
		if records[i], err = billing.DecodeSettlement(data); err != nil || records[i].Settlement.Record.Reason == poison {
			return 0, errors.Join(errors.New("lease: apply: a record is not one"), err)
		}
	}
	if batch.To > 0 {
		row := b.replicas[r.ID]
		if row == nil || row.epoch != r.Epoch {
			return 0, ErrFenced
		}
		if row.applied != batch.From && !b.careless {
			return row.applied, nil
		}
		row.applied, row.opened = batch.To, batch.Open
		applied = batch.To
	}
	if batch.Seal != nil && !batch.Seal() {
		return 0, errWithdrawn
	}
	for _, one := range records {
		b.charge(one)
		delete(b.marks, one.Hold.ID)
	}
	if batch.To == 0 {
		for _, data := range batch.Marks {
			one, err := billing.DecodeSettlement(data)
			if _, settled := b.records[one.Hold.ID]; err == nil && !settled {
				b.marks[one.Hold.ID] = mark{one.ReplicaID, one.Hold.Epoch, data}
			}
		}
	}
	return applied, nil
}

// charge takes the cost of a record from its leases, and from free credit where the leases have too little.
func (b *books) charge(one billing.JournaledSettlement) {
	id := one.Hold.ID
	before, exists := b.records[id]
	if exists && !b.careless {
		return
	}
	s := one.Settlement
	cost := one.Hold.Charge(s.Cost)
	paid := b.pay(one, one.Hold.AccountID, cost)
	if one.Hold.BudgetID != "" {
		b.pay(one, one.Hold.BudgetID, paid)
	}
	b.charged[one.Hold.AccountID] += paid
	b.overrun += s.Cost - paid
	b.records[id] = record{
		account: one.Hold.AccountID, budget: one.Hold.BudgetID, replica: one.ReplicaID, epoch: one.Hold.Epoch,
		reserved: one.Hold.Amount, cost: paid, overrun: s.Cost - paid, reason: s.Record.Reason, times: before.times + 1,
	}
}

func (b *books) pay(one billing.JournaledSettlement, id string, cost app.Amount) (paid app.Amount) {
	p := b.creditAccounts[id]
	if l := b.leases[leaseKey{one.ReplicaID, one.Hold.Epoch, id}]; l != nil && l.state == "open" {
		paid = min(cost, l.remaining())
		l.spent += paid
		p.held -= paid
		p.posted -= paid
	}
	rest := min(cost-paid, p.posted-p.held)
	p.posted -= rest
	paid += rest
	p.spent += paid
	p.allowed += rest // The lease that counted toward the limit is gone.
	left := paid
	for i := range p.grants {
		draw := min(left, p.grants[i].remaining)
		p.grants[i].remaining -= draw
		left -= draw
	}
	return paid
}

func (b *books) Register(_ context.Context, id string) (Start, error) {
	row := b.replicas[id]
	if row == nil {
		row = &replicaRow{}
		b.replicas[id] = row
	}
	row.epoch++
	row.state, row.heartbeat = "live", b.now
	return Start{Replica: Replica{id, row.epoch}, Applied: row.applied, Open: row.opened}, nil
}

func (b *books) Marks(_ context.Context, r Replica) (marks [][]byte, err error) {
	for _, id := range slices.Sorted(maps.Keys(b.marks)) {
		m := b.marks[id]
		row := b.replicas[m.replica]
		if row == nil {
			continue
		}
		if m.replica == r.ID && m.epoch < r.Epoch || row.state != "live" {
			marks = append(marks, m.data)
		}
	}
	return marks, nil
}

func (b *books) Retire(_ context.Context, r Replica) error {
	b.closeAll(r.ID, r.Epoch-1, "closed")
	return nil
}

func (b *books) End(_ context.Context, r Replica) error {
	b.closeAll(r.ID, r.Epoch, "closed")
	if b.live(r) {
		b.replicas[r.ID].state = "ended"
	}
	return nil
}

func (b *books) Reap(_ context.Context, silent time.Duration) (lost int, err error) {
	for id, row := range b.replicas {
		if row.state == "live" && row.heartbeat < b.now-silent {
			row.state = "lost"
			lost++
		}
		if row.state != "live" {
			b.closeAll(id, row.epoch, "reclaimed")
		}
	}
	return lost, nil
}

func (b *books) closeAll(id string, epoch int64, state string) {
	for k, l := range b.leases {
		if k.replica == id && k.epoch <= epoch && l.state == "open" {
			b.creditAccounts[k.creditAccountID].held -= l.remaining()
			l.returned = l.granted - l.spent
			l.state, l.recalled = state, false
		}
	}
}

// poison is a settlement reason that the simulated database rejects.
const poison = "poison"

// check compares the values that the database stores twice.
func (b *books) check() error {
	held := map[string]app.Amount{}
	for k, l := range b.leases {
		if l.granted < 0 || l.returned < 0 || l.spent < 0 || l.remaining() < 0 {
			return fmt.Errorf("I5: lease %v: granted %d, returned %d, spent %d", k, l.granted, l.returned, l.spent)
		}
		if l.state == "open" {
			held[k.creditAccountID] += l.remaining()
		}
	}
	sums := map[string]app.Amount{}
	for id, r := range b.records {
		if r.times != 1 {
			return fmt.Errorf("I7: request %s was charged %d times", id, r.times)
		}
		if r.cost > r.reserved || r.cost < 0 {
			return fmt.Errorf("I6: request %s cost %d of %d", id, r.cost, r.reserved)
		}
		sums[r.account] += r.cost
	}
	for id, p := range b.creditAccounts {
		if p.held < 0 || p.posted-p.held < 0 {
			return fmt.Errorf("I3: account %s: posted %d, held %d", id, p.posted, p.held)
		}
		if p.held != held[id] {
			return fmt.Errorf("I4: account %s: held %d, its leases have %d", id, p.held, held[id])
		}
		if p.budget {
			continue
		}
		if p.limit.Set() && p.spent+p.held > p.allowed {
			return fmt.Errorf("account %s: %d spent and %d held of its limit of %d", id, p.spent, p.held, p.allowed)
		}
		var remaining app.Amount
		for _, g := range p.grants {
			remaining += g.remaining
		}
		if remaining != p.posted {
			return fmt.Errorf("I13: account %s: posted %d, its grants have %d", id, p.posted, remaining)
		}
		if sums[id] != b.charged[id] {
			return fmt.Errorf("I7: account %s: its records cost %d, it was charged %d", id, sums[id], b.charged[id])
		}
	}
	return nil
}
