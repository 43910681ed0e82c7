package callcost

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/api"
	"umg/app"
	"umg/app/account"
	"umg/app/apikey"
	"umg/app/apptest"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/gateway"
	"umg/app/logwriter"
	"umg/app/postgres/pgtest"
	"umg/app/provider"
	"umg/app/ratelimit"
	"umg/app/server"
	"umg/app/traffic"
	"umg/app/trial"
	"umg/billing"
	"umg/billing/journal"
	"umg/billing/lease"
)

const models = `
providers:
  - {id: up, name: Up, base_url: "${UP}/v1"}
models:
  - {id: test/plain, name: Test, owner: test, kind: text, capabilities: [text], input: [text], output: [text], context_tokens: 128000,
     max_output_tokens: 4096, parameters: [temperature], released: 2026-01-01, limits: {requests_per_minute: 100000000, tokens_per_minute: 100000000000},
     rates: {input_tokens: 3 per 1M, output_tokens: 15 per 1M}, routes: [{provider: up, model: plain, style: chat}]}
`

// gatewayUnderTest is a gateway on a real listener, with a ledger in Postgres, a journal on disk and an upstream over loopback. The lease
// manager does not run, so that nothing but calls allocates. Its leases are good for longer than a test takes.
type gatewayUnderTest struct {
	address string
	secret  string
}

// start starts a gateway whose provider gives every request the same answer.
func start(t testing.TB, answer []byte) *gatewayUnderTest {
	t.Helper()
	db := pgtest.New(t)
	ids := app.IDs{Now: time.Now, Random: rand.Reader}
	lines, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	apptest.Must(t, err)
	t.Cleanup(func() { _ = lines.Close() })
	log := slog.New(logwriter.NewHandler(lines, time.Now))
	ledger := billing.NewLedger(db, billing.Options{Now: time.Now, IDs: ids, Log: log})
	accounts := account.New(db, ledger, account.Options{
		Now: time.Now, IDs: ids, Random: rand.Reader, Log: log, Trial: trial.Policy{Amount: 5 * app.Dollar, Days: 30},
	})
	owner, err := accounts.SignUp(t.Context(), account.SignUp{Email: "owner@example.com", Password: "a long enough passphrase", IP: "192.0.2.1"})
	apptest.Must(t, err)
	apptest.Must(t, ledger.Grant(t.Context(), db, billing.Grant{
		AccountID: owner.Principal().AccountID, Kind: billing.Purchased, Amount: 100_000 * app.Dollar, Source: "test",
	}))
	keys := apikey.New(db, apikey.Options{
		Accounts: accounts, Ledger: ledger, Now: time.Now, IDs: ids, Random: rand.Reader, Log: log,
	})
	_, secret, err := keys.Create(t.Context(), owner.Principal(), apikey.Spec{Name: "test", Concurrency: 100})
	apptest.Must(t, err)
	f, err := catalog.ParseFile([]byte(models))
	apptest.Must(t, err)
	apptest.Must(t, catalog.Apply(t.Context(), db, f))
	upstream := serveUpstream(t, answer)
	snapshot, err := catalog.Open(t.Context(), db, catalog.Options{
		Now: time.Now, Log: log, Traits: dialect.Traits, Secrets: func(name string) (string, bool) { return upstream, name == "UP" },
	})
	apptest.Must(t, err)
	providers := provider.New(provider.Options{})
	t.Cleanup(providers.Close)
	manager := openLeases(t, lease.OpenBank(db, time.Now, ids), ledger)
	texts := gateway.New(gateway.Options{
		CreditManager: manager, Credit: manager.CheckCredit, Balance: ledger.Balance, Snapshot: snapshot.Snapshot,
		Limits: ratelimit.New(ratelimit.Options{Now: time.Now}), Providers: providers, Now: time.Now, Random: mathrand.IntN, Log: log,
		EndUserKey: []byte("a key of thirty-two bytes, or so"),
	})
	face := api.New(api.Options{
		Keys: apikey.NewCache(db, apikey.CacheOptions{Now: time.Now, Log: log}), Catalog: snapshot, Gateway: texts, Now: time.Now,
		BaseURL: "https://gateway.example", Ledger: ledger,
	})
	counts := traffic.NewMinuteCounts(db, traffic.MinuteOptions{Now: time.Now, Replica: "test", InFlight: face.InFlight, Log: log})
	srv := server.New(server.Options{
		API: face, IDs: ids, Now: time.Now, Log: log, BaseURL: "https://gateway.example", DrainTimeout: time.Second,
		MinuteCounts: counts, RecentCalls: traffic.NewRecentCalls(db, time.Now, log),
	})
	return &gatewayUnderTest{address: serve(t, srv), secret: secret}
}

// openLeases opens a lease manager whose journal is on disk.
func openLeases(t testing.TB, bank *lease.SQLStore, ledger *billing.Ledger) *lease.Manager {
	t.Helper()
	folder, err := journal.Folder(filepath.Join(t.TempDir(), "journal"))
	apptest.Must(t, err)
	written, err := journal.Open(folder, journal.Options{Owner: "test", FreeBytesMin: 1, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	apptest.Must(t, err)
	manager, err := lease.New(lease.Options{
		Bank: bank, Registry: bank, Journal: written, ReplicaID: "test", Now: time.Now, Log: slog.New(slog.DiscardHandler), Balance: ledger.Balance,
	})
	apptest.Must(t, err)
	apptest.Must(t, manager.Recover(t.Context()))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	// goroutine: the test owns it, and it ends with the test.
	go func() { ended <- written.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		apptest.Must(t, errors.Join(<-ended, written.Close(), folder.Close()))
	})
	return manager
}

// serve runs the server on a listener until the test ends.
func serve(t testing.TB, s *server.Server) (address string) {
	t.Helper()
	public, err := net.Listen("tcp", "127.0.0.1:0")
	apptest.Must(t, err)
	ops, err := net.Listen("tcp", "127.0.0.1:0")
	apptest.Must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	// goroutine: the test owns it, and it ends with the test.
	go func() { ended <- s.Run(ctx, public, ops) }()
	t.Cleanup(func() {
		stop()
		apptest.Must(t, <-ended)
	})
	return public.Addr().String()
}

// serveUpstream answers every request on a connection with the same bytes. It allocates nothing for a request.
func serveUpstream(t testing.TB, answer []byte) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	apptest.Must(t, err)
	var running sync.WaitGroup
	// goroutine: the test owns it, and it ends with the listener.
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = conn.Close() })
			// goroutine: the test owns it, and it ends with its connection.
			running.Go(func() {
				in := make([]byte, 256<<10)
				for readMessage(conn, in) == nil {
					if _, err := conn.Write(answer); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() { _ = l.Close() })
	return "http://" + l.Addr().String()
}

var (
	headEnd = []byte("\r\n\r\n")
	length  = []byte("Content-Length: ")
)

// readMessage reads one request or response of a known length into a buffer, and allocates nothing.
func readMessage(conn net.Conn, into []byte) error {
	have, want := 0, -1
	for want < 0 || have < want {
		n, err := conn.Read(into[have:])
		if err != nil {
			return err
		}
		have += n
		if head := bytes.Index(into[:have], headEnd); want < 0 && head >= 0 {
			want = head + len(headEnd)
			if at := bytes.Index(into[:head], length); at >= 0 {
				size := 0
				for _, digit := range into[at+len(length) : head] {
					if digit < '0' || digit > '9' {
						break
					}
					size = 10*size + int(digit-'0')
				}
				want += size
			}
		}
	}
	return nil
}

// client is one connection to the gateway that sends the same call again and again.
type client struct {
	conn    net.Conn
	request []byte
	buffer  []byte
}

func (g *gatewayUnderTest) connect(t testing.TB, body string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", g.address)
	apptest.Must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &client{conn: conn, buffer: make([]byte, 256<<10), request: []byte("POST /v1/chat/completions HTTP/1.1\r\nHost: gateway.example\r\n" +
		"User-Agent: test/1\r\nAuthorization: Bearer " + g.secret + "\r\nContent-Type: application/json\r\nAccept: */*\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\n\r\n" + body)}
}

// call makes one call.
func (c *client) call() error {
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	return readMessage(c.conn, c.buffer)
}

// mustAnswer makes one call and fails the test unless the gateway answers it well.
func (c *client) mustAnswer(t testing.TB) {
	t.Helper()
	apptest.Must(t, c.call())
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(c.buffer)), nil)
	apptest.Must(t, err)
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || !strings.Contains(string(text), "chat.completion") {
		t.Fatalf("%d: %s", resp.StatusCode, text)
	}
	_ = resp.Body.Close()
}

// question is the body of a call of about so many bytes.
func question(bytes int) string {
	return `{"model":"test/plain","messages":[{"role":"system","content":"You are a helpful assistant."},{"role":"user","content":"` +
		strings.Repeat("some words ", max(1, (bytes-160)/11)) + `"}],"temperature":0.5,"max_tokens":300}`
}

// answerOf is a whole answer of a provider of about so many bytes.
func answerOf(bytes int) []byte {
	body := `{"id":"c","object":"chat.completion","created":1,"model":"plain","choices":[{"index":0,"message":{"role":"assistant","content":"` +
		strings.Repeat("word ", max(1, (bytes-240)/5)) + `"},"finish_reason":"stop"}],` +
		`"usage":{"prompt_tokens":190,"completion_tokens":150,"total_tokens":340}}`
	return []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}
