package postgres_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/apptest"
	"umg/app/postgres"
	"umg/app/postgres/pgtest"
)

// notificationMax bounds the wait for one notification on a machine that runs other tests.
const notificationMax = 20 * time.Second

// recorder is a consumer whose lines are what it learned, in order: "channel:payload", or "lost".
type recorder struct {
	lines chan string
	stop  func() // It returns when the consumer has ended.
}

// record starts a consumer, which ends with the test. With a gate it takes the next notification when a value can be read from the gate.
func record(t *testing.T, l *postgres.Listener, gate <-chan struct{}, channels ...string) *recorder {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &recorder{lines: make(chan string, 4096)}
	var running sync.WaitGroup
	running.Go(func() {
		for n, lost := range l.Listen(ctx, channels...) {
			line := n.Channel + ":" + n.Payload
			if lost != nil {
				line = "lost"
			}
			r.lines <- line
			if gate != nil {
				<-gate
			}
		}
	})
	r.stop = func() { cancel(); running.Wait() }
	t.Cleanup(r.stop)
	return r
}

func (r *recorder) next(t *testing.T) string {
	t.Helper()
	select {
	case line := <-r.lines:
		return line
	case <-time.After(notificationMax):
		t.Fatal("no notification came")
		return ""
	}
}

func (r *recorder) expect(t *testing.T, want ...string) {
	t.Helper()
	for i, line := range want {
		if got := r.next(t); got != line {
			t.Fatalf("line %d is %q, want %q", i, got, line)
		}
	}
}

// setup returns a database and a listener at it whose connection can be told from all others.
func setup(t *testing.T) (*sqlx.DB, *postgres.Listener) {
	t.Helper()
	db := pgtest.New(t)
	return db, postgres.NewListener(pgtest.DSN(t, db) + " application_name=shared-listener")
}

// backends are the connections of a listener.
func backends(t *testing.T, db *sqlx.DB) []int {
	t.Helper()
	pids, err := postgres.Select[int](t.Context(), db,
		`select pid from pg_stat_activity where datname = current_database() and application_name = 'shared-listener'`)
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

// oneBackend waits until a listener has one connection, because one that was ended is listed for a moment.
func oneBackend(t *testing.T, db *sqlx.DB) (pid int) {
	t.Helper()
	apptest.Eventually(t, notificationMax, "one connection listens", func() bool {
		pids := backends(t, db)
		if len(pids) == 1 {
			pid = pids[0]
		}
		return len(pids) == 1
	})
	return pid
}

func run(t *testing.T, db *sqlx.DB, query string, args ...any) {
	t.Helper()
	if err := postgres.Exec(t.Context(), db, query, args...); err != nil {
		t.Fatal(err)
	}
}

func TestConsumersShareOneConnectionAndEachHearsItsChannelsInOrder(t *testing.T) {
	t.Parallel()
	db, l := setup(t)
	odd, even := record(t, l, nil, "odd", "all"), record(t, l, nil, "even", "all")
	odd.expect(t, "odd:", "all:")
	even.expect(t, "even:", "all:")
	oneBackend(t, db)
	run(t, db, `select pg_notify((array['even', 'odd', 'all', 'none'])[n % 4 + 1], n::text) from generate_series(0, 799) n`)
	for n := 0; n < 800; n += 4 {
		even.expect(t, fmt.Sprintf("even:%d", n), fmt.Sprintf("all:%d", n+2))
		odd.expect(t, fmt.Sprintf("odd:%d", n+1), fmt.Sprintf("all:%d", n+2))
	}
	oneBackend(t, db)
}

// TestASlowConsumerDelaysNoOtherAndLearnsThatItMissedSome holds one consumer at its first notification. The other one gets all of a few
// thousand, in parts of less than a queue, so that it never falls behind.
func TestASlowConsumerDelaysNoOtherAndLearnsThatItMissedSome(t *testing.T) {
	t.Parallel()
	const parts, part = 8, 400
	db, l := setup(t)
	gate := make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	slow := record(t, l, gate, "busy", "calm")
	t.Cleanup(open) // It runs before the end of the slow consumer is awaited.
	slow.expect(t, "busy:")
	quick := record(t, l, nil, "busy")
	quick.expect(t, "busy:")
	for n := range parts {
		run(t, db, `select pg_notify('busy', n::text) from generate_series($1::int, $2::int) n`, n*part, n*part+part-1)
		for i := range part {
			quick.expect(t, fmt.Sprintf("busy:%d", n*part+i))
		}
	}
	open()
	slow.expect(t, "busy:", "calm:")
	var first int
	if _, err := fmt.Sscanf(slow.next(t), "busy:%d", &first); err != nil || first < 1000 {
		t.Fatalf("the first notification after those that were missed is %d, %v", first, err)
	}
	for n := first + 1; n < parts*part; n++ {
		slow.expect(t, fmt.Sprintf("busy:%d", n))
	}
	run(t, db, `select pg_notify('calm', 'again')`)
	slow.expect(t, "calm:again")
	oneBackend(t, db)
}

func TestEveryConsumerLearnsThatTheConnectionWasLostAndGoesOn(t *testing.T) {
	t.Parallel()
	db, l := setup(t)
	recorders := []*recorder{record(t, l, nil, "one"), record(t, l, nil, "one"), record(t, l, nil, "one")}
	for _, r := range recorders {
		r.expect(t, "one:")
	}
	before := oneBackend(t, db)
	for range 3 {
		run(t, db, `select pg_terminate_backend($1)`, before)
		for _, r := range recorders {
			r.expect(t, "lost", "one:")
		}
		run(t, db, `select pg_notify('one', 'payload')`)
		for _, r := range recorders {
			r.expect(t, "one:payload")
		}
		after := oneBackend(t, db)
		if after == before {
			t.Fatal("the connection is the one that was ended")
		}
		before = after
	}
}

// TestALateConsumerListensOnTheSameConnection adds consumers with an open channel and with new ones, and ends one.
func TestALateConsumerListensOnTheSameConnection(t *testing.T) {
	t.Parallel()
	db, l := setup(t)
	early := record(t, l, nil, "one")
	early.expect(t, "one:")
	backend := oneBackend(t, db)
	late := record(t, l, nil, "two", "one")
	late.expect(t, "two:", "one:")
	ended := record(t, l, nil, "three")
	ended.expect(t, "three:")
	ended.stop()
	run(t, db, `select pg_notify('three', 'no one'), pg_notify('two', 'a'), pg_notify('one', 'b')`)
	late.expect(t, "two:a", "one:b")
	early.expect(t, "one:b") // The empty notifications of the late consumer were for it alone.
	if now := oneBackend(t, db); now != backend {
		t.Errorf("the connection %d was replaced by %d", backend, now)
	}
}

func TestTheLastConsumerClosesTheConnection(t *testing.T) {
	t.Parallel()
	db, l := setup(t)
	first, second := record(t, l, nil, "one"), record(t, l, nil, "one")
	first.expect(t, "one:")
	second.expect(t, "one:")
	backend := oneBackend(t, db)
	first.stop()
	run(t, db, `select pg_notify('one', 'a')`)
	second.expect(t, "one:a")
	if now := oneBackend(t, db); now != backend {
		t.Errorf("the connection %d was replaced by %d", backend, now)
	}
	second.stop()
	apptest.Eventually(t, notificationMax, "the connection is closed", func() bool { return len(backends(t, db)) == 0 })
	third := record(t, l, nil, "one")
	third.expect(t, "one:")
	if now := oneBackend(t, db); now == backend {
		t.Error("the closed connection listens")
	}
}

// TestConsumersComeAndGoAtTheSameTime is for the race detector.
func TestConsumersComeAndGoAtTheSameTime(t *testing.T) {
	t.Parallel()
	db, l := setup(t)
	var running sync.WaitGroup
	for i := range 8 {
		channels := []string{"one", fmt.Sprintf("channel%d", i)}
		running.Go(func() {
			for range 20 {
				var heard []string
				for n, lost := range l.Listen(t.Context(), channels...) {
					if lost != nil {
						t.Errorf("lost: %v", lost)
					}
					if heard = append(heard, n.Channel); len(heard) == 2 {
						break
					}
				}
				if !slices.Equal(heard, channels) {
					t.Errorf("heard of %v, want %v", heard, channels)
				}
			}
		})
	}
	running.Wait()
	apptest.Eventually(t, notificationMax, "all connections are closed", func() bool { return len(backends(t, db)) == 0 })
}

// TestAConsumerEndsWhileTheConnectionIsMade connects to a server that does not answer within the time of the test.
func TestAConsumerEndsWhileTheConnectionIsMade(t *testing.T) {
	t.Parallel()
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mute.Close() })
	accept := func() net.Conn {
		conn, err := mute.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	_, port, err := net.SplitHostPort(mute.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	l := postgres.NewListener("host=127.0.0.1 port=" + port + " user=none dbname=none sslmode=disable connect_timeout=60")
	first := record(t, l, nil, "one")
	_ = accept().Close()
	first.expect(t, "lost")
	second := record(t, l, nil, "one")
	for len(second.lines) == 0 { // The last consumer would wait for the connection, so the second one must listen before the first ends.
		_ = accept().Close()
	}
	silent := accept()
	began := time.Now()
	first.stop()
	if took := time.Since(began); took > notificationMax {
		t.Errorf("the end of a consumer took %s", took)
	}
	_, _ = mute.Close(), silent.Close()
	second.expect(t, "lost")
	second.stop()
}

func TestAListenerWithoutAnAddressReceivesNothing(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for what, sequence := range map[string]func(func(postgres.Notification, error) bool){
		"no listener": (*postgres.Listener)(nil).Listen(t.Context(), "one"), "no address": postgres.NewListener("").Listen(t.Context(), "one"),
		"an ended context": postgres.NewListener("host=127.0.0.1 port=1").Listen(ended, "one"),
	} {
		for n, lost := range sequence {
			t.Errorf("%s: %v, %v", what, n, lost)
		}
	}
}
