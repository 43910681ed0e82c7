package gateway_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"

	"umg/app/apptest"
	"umg/app/catalog"
	"umg/app/postgres/pgtest"
	"umg/app/simulator"
)

// TestMain proves that no call leaves a goroutine behind.
func TestMain(m *testing.M) { apptest.VerifyNoLeaks(guests{m}) }

// bed is what a bench stands on and what is dear to make: an upstream, and a database with a catalog that leads to it. One
// test has it at a time, and leaves it to the next when all went well.
type bed struct {
	db  *sqlx.DB
	dsn string
	// books is the same database, reached over the line. Its connections outlast a test, since each new one has to prepare the functions
	// of the ledger first.
	books    *sqlx.DB
	line     *line
	upstream *httptest.Server
	sim      *simulator.Simulator
	catalog  *catalog.Catalog
	conns    *atomic.Int64 // Conns counts the requests that the upstream has accepted.
	front    *atomic.Pointer[http.Handler]
	mute     net.Listener  // The provider sends nothing on connections of mute.
	muted    chan struct{} // Muted gets a value for each connection of mute.
}

// answerWith puts another upstream in the place of the simulator, for this test.
func (l *bed) answerWith(h http.Handler) { l.front.Store(&h) }

// beds are those that are free, by how long their catalog waits for alpha.
var beds = struct {
	mu   sync.Mutex
	free map[string][]*bed
	ends []func()
}{free: map[string][]*bed{}}

// guests are the tests, after whom the beds are put away.
type guests struct{ m *testing.M }

func (g guests) Run() int {
	code := g.m.Run()
	for _, end := range beds.ends {
		end()
	}
	return code
}

// stay is a test for what outlasts it.
type stay struct{ testing.TB }

func (stay) Cleanup(end func()) {
	beds.mu.Lock()
	defer beds.mu.Unlock()
	beds.ends = append(beds.ends, end)
}

// takeBed gives a test a bed that forgot the last one.
func takeBed(t testing.TB, alphaWait string) *bed {
	t.Helper()
	beds.mu.Lock()
	var found *bed
	if list := beds.free[alphaWait]; len(list) > 0 {
		found, beds.free[alphaWait] = list[len(list)-1], list[:len(list)-1]
	}
	beds.mu.Unlock()
	if found == nil {
		found = newBed(t, alphaWait)
	}
	found.answerWith(found.sim)
	found.line.mend()
	t.Cleanup(func() {
		if t.Failed() {
			return // The state of the bed may be why the test failed.
		}
		beds.mu.Lock()
		defer beds.mu.Unlock()
		beds.free[alphaWait] = append(beds.free[alphaWait], found)
	})
	return found
}

func newBed(t testing.TB, alphaWait string) *bed {
	t.Helper()
	l := &bed{db: pgtest.New(stay{t}), conns: &atomic.Int64{}, front: &atomic.Pointer[http.Handler]{}}
	l.dsn = pgtest.DSN(t, l.db)
	l.openLine(t)
	l.sim = simulator.New(simulator.Options{Control: true, StallMax: 10 * time.Second})
	l.upstream = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*l.front.Load()).ServeHTTP(w, r) }))
	l.upstream.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			l.conns.Add(1)
		}
	}
	l.upstream.Start()
	stay{t}.Cleanup(l.upstream.Close)
	l.listenMutely(t)
	text := strings.NewReplacer(
		"ROUTES", common, "STYLED", styled, "SHORT", strings.Replace(styled, "context_tokens: 128000", "context_tokens: 32000", 1), "ALPHA_WAIT", alphaWait,
		"GENEROUS", generousTerms, "OFFERING", offeringTerms, "MODEST2", thoughtfulTerms, "THINKER", thinkerTerms, "MODEST", modestTerms,
	).Replace(file + mended() + routed + longer + withFallbacks() + failovers() + generous + offering + modest + thinkers)
	f, err := catalog.ParseFile([]byte(text))
	must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	must(t, catalog.Apply(ctx, l.db, f))
	l.catalog, err = catalog.Open(ctx, l.db, catalog.Options{Now: time.Now, Log: slog.New(slog.DiscardHandler), Secrets: l.lookup, Extras: extraRows})
	must(t, err)
	return l
}

// openLine opens the database over a line of its own.
func (l *bed) openLine(t testing.TB) {
	t.Helper()
	connector, err := pq.NewConnector(l.dsn)
	must(t, err)
	l.line = &line{}
	connector.Dialer(l.line)
	l.books = sqlx.NewDb(sql.OpenDB(connector), "postgres")
	l.books.SetMaxIdleConns(8)
	stay{t}.Cleanup(func() { _ = l.books.Close() })
}

// listenMutely accepts connections and leaves them alone.
func (l *bed) listenMutely(t testing.TB) {
	t.Helper()
	var err error
	l.mute, err = net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	l.muted = make(chan struct{}, 100)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.mute.Accept()
			if err != nil {
				return
			}
			defer conn.Close() // The connection closes with the listener.
			l.muted <- struct{}{}
		}
	}()
	stay{t}.Cleanup(func() {
		_ = l.mute.Close()
		<-ended
	})
}

const secret = "sk-upstream-0123456789"

func (l *bed) lookup(name string) (string, bool) {
	switch name {
	case "SIM":
		return l.upstream.URL, true
	case "MUTE":
		return "https://" + l.mute.Addr().String(), true
	case "SECRET":
		return secret, true
	case "SECOND", "THIRD":
		return secret + name, true
	}
	return "", false
}

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
	l.conns = nil
}

func (l *line) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}
