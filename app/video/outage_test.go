package video

import (
	"database/sql"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"umg/app"
)

// line is the way to the store. It can be cut and mended.
type line struct {
	mu    sync.Mutex
	down  bool
	conns []net.Conn
}

func (l *line) Dial(network, address string) (net.Conn, error) {
	return l.DialTimeout(network, address, time.Second)
}

func (l *line) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("the line is cut")}
	}
	c, err := net.DialTimeout(network, address, timeout)
	if err == nil {
		l.conns = append(l.conns, c)
	}
	return c, err
}

func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for _, c := range l.conns {
		_ = c.Close()
	}
}

func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}

// overLine makes the service of the bench reach its store over a line, which is cut whenever a provider has answered to
// an order.
func (b *bench) overLine() *line {
	b.Helper()
	connector, err := pq.NewConnector(b.dsn)
	b.must(err)
	l := &line{}
	connector.Dialer(l)
	db := sqlx.NewDb(sql.OpenDB(connector), "postgres")
	b.Cleanup(func() { _ = db.Close() })
	b.upstream = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			b.sim.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		b.sim.ServeHTTP(answer, r)
		l.cut()
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	b.Cleanup(b.upstream.Close)
	b.openCatalog()
	b.replica()
	b.service = New(db, b.o)
	return l
}

func TestAStoreThatGoesAfterAProviderHasAJobLosesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := b.overLine()
	job := b.create(`{"model":"test/film","prompt":"A fish"}`)
	if row := b.row(job.ID); job.State.Status() != "queued" || row.State != Creating || row.UpstreamID != nil || len(b.sim.Renders()) != 1 {
		t.Fatalf("%+v, kept as %+v", job, row)
	}
	b.balance(b.account, startMoney, 40*app.Cent)
	l.mend()
	b.clock.Advance(abandonedAfter + time.Second)
	if _, err := b.service.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	if row := b.row(job.ID); row.UpstreamID == nil || *row.UpstreamID != b.sim.Renders()[0].ID || len(b.sim.Renders()) != 1 {
		t.Errorf("the job was not found again: %+v", row)
	}
	b.books()
}

func TestAStoreThatGoesAfterARefusalHoldsNoMoneyForLong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := b.overLine()
	_, err := b.service.Create(t.Context(), b.call(`{"model":"test/film","prompt":"guardrail: minors"}`))
	wantError(t, err, app.Invalid, "content_policy_violation", "prompt")
	b.balance(b.account, startMoney, 40*app.Cent)
	l.mend()
	for range 10 {
		b.clock.Advance(abandonedAfter + time.Second)
		if _, err := b.service.Work(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.balance(b.account, startMoney, 0)
	b.books()
}
