package video

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/apptest"
	"umg/app/catalog"
	"umg/app/postgres"
	"umg/app/provider/videoapi"
	"umg/app/webhook"
	"umg/billing"
)

// price is that of eight seconds in the size that the tests of the worker ask for.
const price = 80 * app.Cent

// begun is a job as a create leaves it before its provider is asked: the credit is held.
func (b *bench) begun(model, prompt string, change ...func(*jobRow)) *jobRow {
	b.Helper()
	m, ok := b.catalog.Snapshot().Model(model)
	if !ok {
		b.Fatalf("the catalog has no %s", model)
	}
	now := b.service.now()
	due, token := now.Add(time.Minute), b.ids.New("tok")
	r := &jobRow{
		ID: b.ids.New("video"), AccountID: b.account, KeyID: "key_1", Model: model, Prompt: prompt, Size: "1280x720", Seconds: 8,
		State: Creating, RateCardID: m.RateCard.ID, DueAt: &due, DeadlineAt: now.Add(b.service.o.VerdictMax), CallbackToken: &token, CreatedAt: now,
		Provider: m.Routes[0].Provider.ID, Style: m.Routes[0].Style, UpstreamModel: m.Routes[0].Model,
	}
	for _, f := range change {
		f(r)
	}
	b.must(postgres.InTx(b.Context(), b.db, func(tx *sqlx.Tx) error {
		hold, err := b.ledger.HoldFor(b.Context(), tx, billing.HoldRequest{ID: r.ID, AccountID: r.AccountID, Want: price}, 72*time.Hour)
		if err != nil {
			return err
		}
		r.Hold = hold.Amount
		return insert(b.Context(), tx, r)
	}))
	return r
}

// sent is a job whose provider has it, due now.
func (b *bench) sent(model, prompt string, change ...func(*jobRow)) string {
	b.Helper()
	r := b.begun(model, prompt, change...)
	task := b.order(r)
	_, won, err := move(b.Context(), b.db, r.ID, Queued, set{"upstream_id": task.ID, "due_at": b.service.now()})
	b.must(err)
	if !won {
		b.Fatal("another worker moved the job")
	}
	return r.ID
}

// order asks the provider for a job.
func (b *bench) order(r *jobRow) videoapi.Task {
	b.Helper()
	order, err := b.service.searchRequest(b.Context(), r)
	b.must(err)
	order.Image = nil // The store does not keep the image itself.
	task, f := b.o.Upstreams.Create(b.Context(), b.route(r), order)
	if f != nil {
		b.Fatal(f)
	}
	return task
}

func (b *bench) route(r *jobRow) *catalog.Route {
	b.Helper()
	route, f := b.service.route(r)
	if f != nil {
		b.Fatal(f)
	}
	return route
}

// works makes one pass.
func (b *bench) works() {
	b.Helper()
	_, err := b.service.Work(b.Context())
	b.must(err)
}

// until makes passes and moves the clock in between, until the job is in a state.
func (b *bench) until(id string, want State, step time.Duration) jobRow {
	b.Helper()
	for range 100 {
		b.works()
		if r := b.row(id); r.State == want {
			return r
		}
		b.clock.Advance(step)
	}
	b.Fatalf("the job is %s after all, not %s: %+v", b.row(id).State, want, b.row(id))
	return jobRow{}
}

// paid fails the test unless so much was paid for all jobs so far and nothing is held any more.
func (b *bench) paid(cost app.Amount) {
	b.Helper()
	b.balance(b.account, startMoney-cost, 0)
	b.books()
}

// told compares the types of the events of a job.
func (b *bench) told(id string, want ...string) {
	b.Helper()
	var got []string
	b.must(b.db.SelectContext(b.Context(), &got, `select type from webhook_events where object_id = $1 order by type`, id))
	if !slices.Equal(got, want) {
		b.Errorf("the events of the job are %v, want %v", got, want)
	}
}

// failed compares why a job failed, and that it cost nothing.
func (b *bench) failed(id, code string) {
	b.Helper()
	r := b.row(id)
	if r.State != Failed || r.ErrorCode != code || r.ErrorMessage == "" || *r.Cost != 0 {
		b.Errorf("the job is %s with %q %q at %v, want failed with %s", r.State, r.ErrorCode, r.ErrorMessage, r.Cost, code)
	}
	if r.DeletedAt == nil {
		b.told(id, webhook.VideoFailed)
	}
}

// blob is what is stored of a job, nil when there is none.
func (b *bench) blob(id string, v Variant) []byte {
	b.Helper()
	blob, err := b.store.Open(b.Context(), key(b.account, id, v))
	if err != nil {
		return nil
	}
	defer func() { _ = blob.Close() }()
	data, err := io.ReadAll(blob)
	b.must(err)
	return data
}

// hide is what a delete does to a job.
func (b *bench) hide(id string) {
	b.Helper()
	now := b.service.now()
	_, err := b.db.ExecContext(b.Context(), `update video_jobs set deleted_at = $2, due_at = $2 where id = $1`, id, now)
	b.must(err)
}

// looks is how often the provider was asked how the render of a job is going.
func (b *bench) looks(id string) int64 {
	b.Helper()
	upstream := *b.row(id).UpstreamID
	for _, r := range b.sim.Renders() {
		if strings.HasSuffix(upstream, r.ID) {
			return int64(r.Looks)
		}
	}
	b.Fatal("the provider does not know the job")
	return 0
}

func simulate(spec, prompt string) string { return "simulate: " + spec + "\n" + prompt }

// eventually waits for what other goroutines do.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	apptest.Eventually(t, 30*time.Second, what, ok)
}

// running runs a service until the test ends it.
func (b *bench) running(s *Service) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, postgres.NewListener(b.dsn)) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			b.Errorf("the worker ended with %v", err)
		}
	}
	b.Cleanup(stop)
	return stop
}
