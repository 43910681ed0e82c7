package mail

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/apptest"
	"umg/app/postgres/pgtest"
)

// postbox is a small mail server on a real socket. Its answers to commands can be replaced.
type postbox struct {
	listener net.Listener
	config   *tls.Config // Config enables STARTTLS.
	login    string      // Login is the required "user password".

	mu      sync.Mutex
	answers map[string][]string // Answers are the next ones to a command; an empty answer closes the connection.
	got     []letter
	all     sync.WaitGroup
}

// letter is a mail as it came.
type letter struct {
	from, to, data string
	secure         bool
}

// open starts a server; implicit is TLS from the first byte.
func open(t *testing.T, config *tls.Config, implicit bool) *postbox {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &postbox{listener: l, config: config, answers: map[string][]string{}}
	p.all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if implicit {
				conn = tls.Server(conn, config)
			}
			p.all.Go(func() { p.talk(conn, implicit) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.all.Wait()
	})
	return p
}

func (p *postbox) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// will sets the next answers to a command.
func (p *postbox) will(command string, answers ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[command] = answers
}

func (p *postbox) letters() []letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]letter(nil), p.got...)
}

// answer is what the server says to a command.
func (p *postbox) answer(command, standard string) (said string, hangUp bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if list := p.answers[command]; len(list) > 0 {
		p.answers[command] = list[1:]
		return list[0], list[0] == ""
	}
	return standard, false
}

// talk is one conversation.
func (p *postbox) talk(conn net.Conn, secure bool) {
	defer func() { conn.Close() }()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	in, one := bufio.NewReader(conn), letter{secure: secure}
	fmt.Fprint(conn, "220 postbox\r\n")
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		command, rest, _ := strings.Cut(line, " ")
		command = strings.ToUpper(command)
		standard := "250 fine"
		switch command {
		case "EHLO":
			standard = "250-postbox\r\n"
			if p.config != nil && !one.secure {
				standard += "250-STARTTLS\r\n"
			}
			if p.login != "" {
				standard += "250-AUTH PLAIN\r\n"
			}
			standard += "250-8BITMIME\r\n250 ENHANCEDSTATUSCODES"
		case "STARTTLS":
			fmt.Fprint(conn, "220 go on\r\n")
			conn = tls.Server(conn, p.config)
			in, one.secure = bufio.NewReader(conn), true
			continue
		case "AUTH":
			raw, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(rest, "PLAIN "))
			standard = "235 welcome"
			if string(raw) != "\x00"+strings.ReplaceAll(p.login, " ", "\x00") {
				standard = "535 5.7.8 who are you"
			}
		case "MAIL":
			one.from = rest
		case "RCPT":
			one.to = rest
		case "DATA":
			standard = "354 tell me"
		case "QUIT":
			standard = "221 bye"
		}
		said, hangUp := p.answer(command, standard)
		if hangUp {
			return
		}
		fmt.Fprintf(conn, "%s\r\n", said)
		if command == "DATA" && strings.HasPrefix(said, "354") {
			if !p.take(conn, in, one) {
				return
			}
		}
		if command == "QUIT" {
			return
		}
	}
}

// take reads the mail itself. Its end is a command of its own, called ".".
func (p *postbox) take(conn net.Conn, in *bufio.Reader, one letter) bool {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return false
		}
		if line == ".\r\n" {
			break
		}
		one.data += line
	}
	said, hangUp := p.answer(".", "250 2.0.0 taken")
	if strings.HasPrefix(said, "250") {
		p.mu.Lock()
		p.got = append(p.got, one)
		p.mu.Unlock()
	}
	if !hangUp {
		fmt.Fprintf(conn, "%s\r\n", said)
	}
	return !hangUp
}

// certificate is one of 127.0.0.1 with the pool that trusts it.
func certificate(t *testing.T) (server, trusting *tls.Config) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	shape := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "postbox"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, shape, shape, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, _ := x509.ParseCertificate(raw)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{raw}, PrivateKey: key}}}, &tls.Config{RootCAs: pool}
}

// bench is a service with a database of its own.
type bench struct {
	*testing.T
	*Service
	db    *sqlx.DB
	clock *apptest.Clock
}

// setup makes a bench that sends to the postbox, without protection unless change says otherwise.
func setup(t *testing.T, p *postbox, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{T: t, db: pgtest.New(t), clock: apptest.FixedClock(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))}
	b.Service = b.another(p, change...)
	return b
}

// another is one more replica over the same store.
func (b *bench) another(p *postbox, change ...func(*Options)) *Service {
	b.Helper()
	o := Options{
		Key: [32]byte{7}, From: "Model Gateway <gateway@example.com>", Now: b.clock.Now, IDs: apptest.IDs(b.clock.Now),
		Log: slog.New(slog.DiscardHandler),
	}
	if p != nil {
		o.SMTP = &SMTP{Host: "127.0.0.1", Port: p.port(), Security: NoTLS}
	}
	for _, c := range change {
		c(&o)
	}
	s, err := New(b.db, o)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func message() Message {
	return Message{To: "ada@example.com", Subject: "Confirm your address – now", Text: "Go to https://example.com/verify?t=1", Kind: "verify_email"}
}

// queue sends a message and returns its mail.
func (b *bench) queue(m Message) Mail {
	b.Helper()
	if err := b.Send(b.Context(), b.db, m); err != nil {
		b.Fatal(err)
	}
	return b.newest()
}

func (b *bench) newest() Mail {
	b.Helper()
	list, err := b.Outbox(b.Context(), 1)
	if err != nil || len(list) != 1 {
		b.Fatalf("the outbox: %v %v", list, err)
	}
	return list[0]
}

// deliver makes the attempts that are due, which must be so many.
func (b *bench) deliver(want int) {
	b.Helper()
	if n, err := b.Deliver(b.Context()); err != nil || n != want {
		b.Fatalf("%d attempts, want %d: %v", n, want, err)
	}
}
