package spend

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/catalog"
	"umg/app/postgres"
)

const (
	// readEvery is the time between two readings of the sums. A call settles within a fraction of a second after its end, so every replica
	// knows a cap as reached within 5 s after the end of the call that reached it.
	readEvery = 2 * time.Second
	restEvery = 5 * time.Second // While no provider has a cap, the tracker looks this often whether one has.
	readMax   = 2 * time.Second // This is the time limit of one reading.
	// keptMonths is how many months of sums are kept before the current one.
	keptMonths = 2
)

// Period is the time that a cap is for.
type Period string

// The periods are days and months of UTC.
const (
	Day   Period = "day"
	Month Period = "month"
)

// Spent is what calls of the current day and month have cost.
type Spent struct{ Day, Month app.Amount }

// Usage is the spend of one cap.
type Usage struct {
	Provider   string
	Credential string // Credential is the id of the credential. It is empty for the cap of the whole provider.
	Period     Period
	Cap, Spent app.Amount
	ResetsAt   time.Time // ResetsAt is when the period ends.
}

// IsReached reports whether calls go elsewhere.
func (u *Usage) IsReached() bool { return u.Spent >= u.Cap }

// Options configure a Tracker. All are required.
type Options struct {
	// Now is the clock of the ledger, so that all replicas change the day at one time.
	Now app.Clock
	Log *slog.Logger
	// Providers are those of the catalog in force.
	Providers func() []*catalog.Provider
}

// Tracker has the spend of the current day and month, as the settlements of all replicas have added it up. It is safe for concurrent use.
type Tracker struct {
	db   *sqlx.DB
	o    Options
	sums atomic.Pointer[sums]

	mu sync.Mutex // The lock guards what one reading leaves to the next.
	// reached are the caps that were reached at the last reading.
	reached  map[capKey]bool
	prunedOn time.Time // PrunedOn is the day on which old sums were last deleted.
}

type spendKey struct{ provider, credential string }

type capKey struct {
	spendKey

	period Period
}

// sums never change.
type sums struct {
	day   time.Time
	spent map[spendKey]Spent
}

// New returns a Tracker. It panics when a required option is missing.
func New(db *sqlx.DB, o Options) *Tracker {
	app.RequireOptions("spend.New", map[string]bool{
		"db": db != nil, "Options.Now": o.Now != nil, "Options.Log": o.Log != nil, "Options.Providers": o.Providers != nil,
	})
	t := &Tracker{db: db, o: o, reached: map[capKey]bool{}}
	t.sums.Store(&sums{})
	return t
}

// Spent is what the calls of a provider have cost, or those of one credential when that is not empty.
func (t *Tracker) Spent(provider, credentialID string) Spent {
	s := t.sums.Load()
	spent := s.spent[spendKey{provider, credentialID}]
	switch today := dayOf(t.o.Now()); {
	case today.Equal(s.day):
	case monthOf(today).Equal(monthOf(s.day)):
		spent.Day = 0
	default:
		spent = Spent{}
	}
	return spent
}

// Reached reports whether the cap of a credential, or that of the whole provider for an empty id, is reached.
func (t *Tracker) Reached(p *catalog.Provider, credentialID string) bool {
	limit := p.Spend.Cap(credentialID)
	if limit == (catalog.SpendCap{}) {
		return false
	}
	spent := t.Spent(p.ID, credentialID)
	return limit.Daily > 0 && spent.Day >= app.Amount(limit.Daily) || limit.Monthly > 0 && spent.Month >= app.Amount(limit.Monthly)
}

// Usages lists the caps of a provider with their spend: those of the provider, and then those of its credentials in their order.
func (t *Tracker) Usages(p *catalog.Provider) (all []Usage) {
	if p.Spend == nil {
		return nil
	}
	today := dayOf(t.o.Now())
	for i := -1; i < len(p.CredentialIDs); i++ {
		id := p.CredentialID(i)
		if i >= 0 && id == "" {
			continue
		}
		limit, spent := p.Spend.Cap(id), t.Spent(p.ID, id)
		if limit.Daily > 0 {
			all = append(all, Usage{p.ID, id, Day, app.Amount(limit.Daily), spent.Day, today.AddDate(0, 0, 1)})
		}
		if limit.Monthly > 0 {
			all = append(all, Usage{p.ID, id, Month, app.Amount(limit.Monthly), spent.Month, monthOf(today).AddDate(0, 1, 0)})
		}
	}
	return all
}

// Load reads the sums, and logs the caps that are newly reached or no longer reached. Without a cap in the catalog it reads nothing.
func (t *Tracker) Load(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	today := dayOf(t.o.Now())
	if t.hasCaps() {
		if err := t.read(ctx, today); err != nil {
			return err
		}
	}
	t.logChanges()
	if t.prunedOn.Equal(today) {
		return nil
	}
	_, err := t.db.ExecContext(ctx, `delete from provider_spend where day < $1::date`,
		monthOf(today).AddDate(0, -keptMonths, 0).Format(time.DateOnly))
	if err == nil {
		t.prunedOn = today
	}
	return postgres.StoreError("spend: delete old sums", err)
}

func (t *Tracker) hasCaps() bool {
	for _, p := range t.o.Providers() {
		if p.Spend != nil {
			return true
		}
	}
	return false
}

func (t *Tracker) read(ctx context.Context, today time.Time) error {
	var rows []struct {
		Provider   string     `db:"provider"`
		Credential string     `db:"credential"`
		Day        app.Amount `db:"of_day"`
		Month      app.Amount `db:"of_month"`
	}
	err := t.db.SelectContext(ctx, &rows, `
		select provider, credential, coalesce(sum(spent_nanos) filter (where day = $2::date), 0)::bigint as of_day,
			sum(spent_nanos)::bigint as of_month
		from provider_spend where day between $1::date and $2::date group by 1, 2`,
		monthOf(today).Format(time.DateOnly), today.Format(time.DateOnly))
	if err != nil {
		return postgres.StoreError("spend: read sums", err)
	}
	next := &sums{day: today, spent: map[spendKey]Spent{}}
	for _, row := range rows {
		all := spendKey{provider: row.Provider}
		next.spent[all] = Spent{next.spent[all].Day + row.Day, next.spent[all].Month + row.Month}
		if row.Credential != "" {
			next.spent[spendKey{row.Provider, row.Credential}] = Spent{row.Day, row.Month}
		}
	}
	t.sums.Store(next)
	return nil
}

// logChanges logs the caps that are newly reached, and those that are no longer reached.
func (t *Tracker) logChanges() {
	reached := map[capKey]bool{}
	for _, p := range t.o.Providers() {
		for _, u := range t.Usages(p) {
			key := capKey{spendKey{u.Provider, u.Credential}, u.Period}
			if !u.IsReached() {
				continue
			}
			reached[key] = true
			if !t.reached[key] {
				t.o.Log.Warn("provider spend cap reached, calls go elsewhere", "provider", u.Provider, "credential", cmp.Or(u.Credential, "all"),
					"period", string(u.Period), "cap", u.Cap.String(), "spent", u.Spent.String(), "until", u.ResetsAt)
			}
		}
	}
	for key := range t.reached {
		if !reached[key] {
			t.o.Log.Info("provider spend cap no longer reached", "provider", key.provider, "credential", cmp.Or(key.credential, "all"),
				"period", string(key.period))
		}
	}
	t.reached = reached
}

// Run reads the sums until ctx ends. When the database is away, it keeps the last ones.
func (t *Tracker) Run(ctx context.Context) error {
	every := t.pause()
	tick := time.NewTicker(every)
	defer tick.Stop()
	away := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		reading, cancel := context.WithTimeout(ctx, readMax)
		err := t.Load(reading)
		cancel()
		if err != nil && !away && ctx.Err() == nil {
			t.o.Log.Warn("spend: database unavailable, keeping last sums", "error", err)
		}
		away = err != nil
		if next := t.pause(); next != every {
			every = next
			tick.Reset(every)
		}
	}
}

// pause is the time between two looks.
func (t *Tracker) pause() time.Duration {
	if t.hasCaps() {
		return readEvery
	}
	return restEvery
}

func dayOf(at time.Time) time.Time {
	at = at.UTC()
	return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
}

func monthOf(day time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), 1, 0, 0, 0, 0, time.UTC)
}
