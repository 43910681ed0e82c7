package mail

import (
	"context"
	"errors"
	"io"
	"mime"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

func TestAMailArrivesWithItsTextAndItsPage(t *testing.T) {
	t.Parallel()
	p := open(t, nil, false)
	b := setup(t, p)
	m := message()
	m.HTML = "<p>Go <a href=\"https://example.com/verify?t=1\">there</a></p>"
	queued := b.queue(m)
	b.deliver(1)
	got := p.letters()
	if len(got) != 1 || !strings.Contains(got[0].from, "<gateway@example.com>") || !strings.Contains(got[0].to, "<ada@example.com>") {
		t.Fatalf("what came: %+v", got)
	}
	read, err := netmail.ReadMessage(strings.NewReader(got[0].data))
	if err != nil {
		t.Fatal(err)
	}
	subject, _ := new(mime.WordDecoder).DecodeHeader(read.Header.Get("Subject"))
	body, _ := io.ReadAll(read.Body)
	if subject != m.Subject || read.Header.Get("Message-Id") != "<"+queued.ID+"@example.com>" || read.Header.Get("To") != "<ada@example.com>" ||
		!strings.Contains(read.Header.Get("From"), "Model Gateway") || !strings.HasPrefix(read.Header.Get("Content-Type"), "multipart/alternative") {
		t.Fatalf("headers: %v", read.Header)
	}
	if !strings.Contains(string(body), "Go to https://example.com/verify?t=3D1") || !strings.Contains(string(body), "text/html") {
		t.Fatalf("body: %s", body)
	}
	if now := b.newest(); now.State != Sent || now.Attempts != 1 || now.EndedAt == nil {
		t.Fatalf("afterwards: %+v", now)
	}
	b.deliver(0)
}

func TestAMailThatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	b := setup(t, open(t, nil, false))
	if _, err := b.Get(t.Context(), "mail_nothing"); app.KindOf(err) != app.NotFound || app.AsError(err).Code != "mail_not_found" {
		t.Errorf("got %v", err)
	}
}

func TestAMailGoesOutOnlyWithTheTransactionThatWroteIt(t *testing.T) {
	t.Parallel()
	p := open(t, nil, false)
	b := setup(t, p)
	broken := errors.New("no")
	err := postgres.InTx(t.Context(), b.db, func(tx *sqlx.Tx) error {
		if err := b.Send(t.Context(), tx, message()); err != nil {
			return err
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	b.deliver(0)
}

func TestWithoutAServerMailsAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	kept := b.queue(message())
	b.deliver(0)
	got, err := b.Get(t.Context(), kept.ID)
	if err != nil || got.State != Kept || got.Text != message().Text {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := b.Get(t.Context(), "mail_other"); app.KindOf(err) != app.NotFound {
		t.Fatalf("a mail that is not there: %v", err)
	}
}

func TestWhatWouldWriteHeadersIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	for name, change := range map[string]func(*Message){
		"a line in the address":    func(m *Message) { m.To = "ada@example.com\r\nBcc: eve@example.com" },
		"a bare feed":              func(m *Message) { m.To = "ada@example.com\nBcc: eve@example.com" },
		"a quoted line":            func(m *Message) { m.To = "\"a\r\nBcc: eve\"@example.com" },
		"two addresses":            func(m *Message) { m.To = "ada@example.com, eve@example.com" },
		"a name with the address":  func(m *Message) { m.To = "Ada <ada@example.com>" },
		"brackets":                 func(m *Message) { m.To = "<ada@example.com>" },
		"no address":               func(m *Message) { m.To = "" },
		"a long address":           func(m *Message) { m.To = strings.Repeat("a", 250) + "@example.com" },
		"a line in the subject":    func(m *Message) { m.Subject = "Hi\r\nBcc: eve@example.com" },
		"a carriage return":        func(m *Message) { m.Subject = "Hi\rBcc: eve@example.com" },
		"a next line of Unicode":   func(m *Message) { m.Subject = "Hi\u0085Bcc: eve@example.com" },
		"a separator of Unicode":   func(m *Message) { m.Subject = "Hi\u2028Bcc: eve@example.com" },
		"broken characters":        func(m *Message) { m.Subject = "Hi\xff" },
		"no subject":               func(m *Message) { m.Subject = "" },
		"a long subject":           func(m *Message) { m.Subject = strings.Repeat("a", 201) },
		"no text":                  func(m *Message) { m.Text = " \n" },
		"a zero byte":              func(m *Message) { m.Text = "a\x00" },
		"a text of megabytes":      func(m *Message) { m.Text = strings.Repeat("a", textBytesMax+1) },
		"a page of megabytes":      func(m *Message) { m.HTML = strings.Repeat("a", htmlBytesMax+1) },
		"a kind that is no word":   func(m *Message) { m.Kind = "Verify\nBcc" },
		"no kind":                  func(m *Message) { m.Kind = "" },
		"a control in the address": func(m *Message) { m.To = "a\x01da@example.com" },
	} {
		m := message()
		change(&m)
		if err := b.Send(t.Context(), b.db, m); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if list, _ := b.Outbox(t.Context(), 10); len(list) != 0 {
		t.Errorf("the outbox has %d mails", len(list))
	}
	m := message()
	m.To = "ada"
	if err := b.Send(t.Context(), b.db, m); app.KindOf(err) != app.Invalid {
		t.Errorf("what a person mistyped: %v", err)
	}
}

func TestTheWayToTheServerIsProtectedAsConfigured(t *testing.T) {
	t.Parallel()
	server, trusting := certificate(t)
	for _, security := range []Security{StartTLS, TLS} {
		p := open(t, server, security == TLS)
		p.login = "user pass"
		b := setup(t, p, func(o *Options) {
			o.SMTP.Security, o.SMTP.TLS, o.SMTP.Username, o.SMTP.Password = security, trusting, "user", "pass"
		})
		b.queue(message())
		b.deliver(1)
		if got := p.letters(); len(got) != 1 || !got[0].secure {
			t.Errorf("%s: %+v, %s", security, got, b.newest().LastError)
		}
		stranger := setup(t, p, func(o *Options) { o.SMTP.Security = security })
		stranger.queue(message())
		stranger.deliver(1)
		if got := p.letters(); len(got) != 1 || stranger.newest().State != Queued {
			t.Errorf("%s: a self-signed certificate was taken", security)
		}
	}
	plain := open(t, nil, false)
	b := setup(t, plain, func(o *Options) { o.SMTP.Security = StartTLS })
	b.queue(message())
	b.deliver(1)
	if got := plain.letters(); len(got) != 0 || !strings.Contains(b.newest().LastError, "STARTTLS") {
		t.Errorf("without STARTTLS: %+v, %q", got, b.newest().LastError)
	}
}

func TestAWrongPasswordIsTriedAgainSinceThePersonWhoMendsItIsOurs(t *testing.T) {
	t.Parallel()
	server, trusting := certificate(t)
	p := open(t, server, false)
	p.login = "user right"
	b := setup(t, p, func(o *Options) {
		o.SMTP.Security, o.SMTP.TLS, o.SMTP.Username, o.SMTP.Password = StartTLS, trusting, "user", "wrong"
	})
	b.queue(message())
	b.deliver(1)
	if m := b.newest(); m.State != Queued || strings.Contains(m.LastError, "wrong") || m.LastError == "" {
		t.Fatalf("%+v", m)
	}
}

func TestAServerThatIsNotThereIsTriedForADay(t *testing.T) {
	t.Parallel()
	p := open(t, nil, false)
	b := setup(t, p)
	p.listener.Close()
	b.queue(message())
	begun, waits := b.clock.Now(), []time.Duration(nil)
	for b.newest().State == Queued && len(waits) < 50 {
		b.deliver(1)
		b.deliver(0)
		if m := b.newest(); m.DueAt != nil {
			waits = append(waits, m.DueAt.Sub(b.clock.Now()))
			b.clock.Advance(waits[len(waits)-1])
		}
	}
	m := b.newest()
	if m.State != Failed || b.clock.Now().Sub(begun) != 24*time.Hour || !strings.Contains(m.LastError, "refused") {
		t.Fatalf("after %s: %+v", b.clock.Now().Sub(begun), m)
	}
	if waits[0] != time.Minute || waits[1] != 2*time.Minute || waits[8] != 256*time.Minute || waits[9] != 6*time.Hour {
		t.Fatalf("waits: %v", waits)
	}
}

func TestWhatIsRefusedForNowIsTriedAgainAndWhatIsRefusedForGoodIsNot(t *testing.T) {
	t.Parallel()
	for command, standard := range map[string]string{"MAIL": "421 4.3.2 later", "RCPT": "450 4.2.0 greylisted", "DATA": "451 4.3.0 busy",
		".": "452 4.3.1 full"} {
		p := open(t, nil, false)
		b := setup(t, p)
		p.will(command, standard)
		b.queue(message())
		b.deliver(1)
		if m := b.newest(); m.State != Queued || len(p.letters()) != 0 || m.LastError == "" {
			t.Fatalf("%s answered %s: %+v", command, standard, m)
		}
		b.clock.Advance(time.Minute)
		b.deliver(1)
		if m := b.newest(); m.State != Sent || m.Attempts != 2 || len(p.letters()) != 1 || m.LastError != "" {
			t.Fatalf("%s, the second time: %+v", command, m)
		}
		p.will(command, "550 5.1.1 no mailbox of that name")
		b.clock.Advance(time.Second)
		b.queue(message())
		b.deliver(1)
		if m := b.newest(); m.State != Failed || m.Attempts != 1 || !strings.Contains(m.LastError, "no mailbox of that name") {
			t.Fatalf("%s, refused for good: %+v", command, m)
		}
	}
}

func TestAMailThatWasTakenIsSentWhateverComesAfter(t *testing.T) {
	t.Parallel()
	p := open(t, nil, false)
	b := setup(t, p)
	p.will("QUIT", "")
	b.queue(message())
	b.deliver(1)
	if m := b.newest(); m.State != Sent || len(p.letters()) != 1 {
		t.Fatalf("%+v", m)
	}
}

func TestAMailWhoseSenderDiedGoesOutAgainUnderTheSameID(t *testing.T) {
	t.Parallel()
	p := open(t, nil, false)
	b := setup(t, p)
	queued := b.queue(message())
	list, err := claim(t.Context(), b.db, 1, b.now(), b.now().Add(claimFor)) // The sender crashes after the server has accepted the mail.
	if err != nil || len(list) != 1 {
		t.Fatalf("%v %v", list, err)
	}
	if err := b.transmit(t.Context(), list[0].Mail); err != nil {
		t.Fatal(err)
	}
	b.deliver(0)
	b.clock.Advance(claimFor)
	b.deliver(1)
	got := p.letters()
	if len(got) != 2 || strings.Count(got[0].data+got[1].data, "<"+queued.ID+"@example.com>") != 2 {
		t.Fatalf("what came: %+v", got)
	}
	// The dead one was only slow: what it writes now no longer counts.
	if ours, err := finish(t.Context(), b.db, list[0], sendResult{state: Failed}, b.now()); err != nil || ours {
		t.Fatalf("a lapsed claim wrote: %v %v", ours, err)
	}
	if m := b.newest(); m.State != Sent || m.Attempts != 2 {
		t.Fatalf("%+v", m)
	}
}

func TestTwoReplicasSendEachMailOnce(t *testing.T) {
	t.Parallel()
	p := open(t, nil, false)
	b := setup(t, p)
	const mails = 40
	for range mails {
		b.queue(message())
	}
	var both sync.WaitGroup
	for _, s := range []*Service{b.Service, b.another(p)} {
		both.Go(func() {
			for n := 1; n > 0; {
				var err error
				if n, err = s.Deliver(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	both.Wait()
	seen := map[string]bool{}
	for _, one := range p.letters() {
		_, id, _ := strings.Cut(one.data, "Message-ID: ")
		id, _, _ = strings.Cut(id, "\r\n")
		seen[id] = true
	}
	if len(p.letters()) != mails || len(seen) != mails {
		t.Fatalf("%d mails, %d of them different", len(p.letters()), len(seen))
	}
}

func TestRunDeliversAndEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := open(t, nil, false)
	b := setup(t, p)
	b.queue(message())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- b.Service.Run(ctx) }()
	deadline := time.Now().Add(10 * time.Second)
	for b.newest().State != Sent && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || b.newest().State != Sent {
		t.Fatalf("%v, %+v", err, b.newest())
	}
}

func TestMailsAreRemovedSevenDaysAfterTheyEnded(t *testing.T) {
	t.Parallel()
	p := open(t, nil, false)
	b := setup(t, p)
	b.queue(message())
	b.deliver(1)
	for _, step := range []struct {
		after time.Duration
		left  int
	}{{7 * 24 * time.Hour, 1}, {time.Second, 0}} {
		b.clock.Advance(step.after)
		if err := b.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if list, _ := b.Outbox(t.Context(), 10); len(list) != step.left {
			t.Fatalf("%d mails are left, want %d", len(list), step.left)
		}
	}
}

func TestALetterIsEscapedAndHasBothForms(t *testing.T) {
	t.Parallel()
	l := Template{
		Title: "Hello <script>", Paragraphs: []string{"One & two.", "<img src=x>"}, Footer: "You <asked> for it.",
		Action: Action{"Confirm \"it\"", "https://example.com/verify?a=1&b=<2>"},
	}
	m, err := l.To("ada@example.com", "Hello", "verify_email")
	if err != nil || m.check() != nil {
		t.Fatal(err, m.check())
	}
	for _, want := range []string{"Hello &lt;script&gt;", "One &amp; two.", "&lt;img src=x&gt;", `href="https://example.com/verify?a=1&amp;b=%3c2%3e"`,
		"Confirm &#34;it&#34;", "You &lt;asked&gt; for it."} {
		if !strings.Contains(m.HTML, want) {
			t.Errorf("the page lacks %s:\n%s", want, m.HTML)
		}
	}
	want := "Hello <script>\n\nOne & two.\n\n<img src=x>\n\nConfirm \"it\":\nhttps://example.com/verify?a=1&b=<2>\n\n--\nYou <asked> for it.\n"
	if m.Text != want {
		t.Errorf("the text is %q", m.Text)
	}
	l.Action.URL = "javascript:alert(1)"
	if page, _ := l.HTML(); strings.Contains(page, `href="javascript`) {
		t.Errorf("a link runs a script:\n%s", page)
	}
}

func TestTheAddressOfTheServerIsReadOrRefused(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]SMTP{
		"smtp://mail.example.com":                      {Host: "mail.example.com", Port: 587, Security: StartTLS},
		"smtps://u:p%40x@mail.example.com":             {Host: "mail.example.com", Port: 465, Security: TLS, Username: "u", Password: "p@x"},
		"smtp://127.0.0.1:2525?security=none":          {Host: "127.0.0.1", Port: 2525, Security: NoTLS},
		"smtp://mail.example.com:25?security=starttls": {Host: "mail.example.com", Port: 25, Security: StartTLS},
	} {
		got, err := ParseSMTP(address)
		if err != nil || *got != want {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}
	for _, address := range []string{"", "mail.example.com:25", "http://x", "smtp://", "smtp://x/path", "smtp://x?security=maybe", "smtps://x?security=none",
		"smtp://user@x", "smtp://x:0", "smtp://x?insecure=1", "smtp://x:99999"} {
		if got, err := ParseSMTP(address); err == nil {
			t.Errorf("%q was read as %+v", address, got)
		}
	}
	if _, err := ParseSMTP("smtp://u:hunter2@\x7f"); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error repeats the password: %v", err)
	}
}

// TestNoOneReadsALinkOfAMailInTheDatabase looks at every column of every row, while the mail waits and after it was sent.
func TestNoOneReadsALinkOfAMailInTheDatabase(t *testing.T) {
	t.Parallel()
	p := open(t, nil, false)
	b := setup(t, p)
	const token = "aSecretThatOpensAnAccount"
	m := message()
	m.Text, m.HTML = "Open https://example.com/reset?token="+token, `<a href="https://example.com/reset?token=`+token+`">Open</a>`
	queued := b.queue(m)
	stored := func() (row string) {
		t.Helper()
		if err := b.db.GetContext(t.Context(), &row, `select m::text || encode(coalesce(body_sealed, ''), 'escape') from mails m`); err != nil {
			t.Fatal(err)
		}
		return row
	}
	if strings.Contains(stored(), token) {
		t.Error("the link can be read while the mail waits")
	}
	if got, err := b.Get(t.Context(), queued.ID); err != nil || got.Text != m.Text || got.HTML != m.HTML {
		t.Errorf("%+v, %v", got, err)
	}
	b.deliver(1)
	if got := p.letters(); len(got) != 1 || !strings.Contains(got[0].data, token) {
		t.Fatalf("what came: %+v", got)
	}
	sealed := 0
	if err := b.db.GetContext(t.Context(), &sealed, `select count(*) from mails where body_sealed is not null or body_text <> '' or body_html <> ''`); err != nil || sealed != 0 {
		t.Errorf("%d bodies are left after the mail was sent, %v", sealed, err)
	}
}

// TestAMailOfBeforeBodiesWereSealedIsSent is one that waited while the server was brought up to date.
func TestAMailOfBeforeBodiesWereSealedIsSent(t *testing.T) {
	t.Parallel()
	p := open(t, nil, false)
	b := setup(t, p)
	m := b.queue(message())
	if _, err := b.db.ExecContext(t.Context(), `update mails set body_sealed = null, body_text = $1 where id = $2`, message().Text, m.ID); err != nil {
		t.Fatal(err)
	}
	b.deliver(1)
	if got := p.letters(); len(got) != 1 || !strings.Contains(got[0].data, "Go to") {
		t.Fatalf("what came: %+v", got)
	}
}
