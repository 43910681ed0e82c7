package console_test

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/console"
	"umg/app/mail"
	"umg/app/postgres/pgtest"
)

func TestTheOutboxExistsOnlyWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	v := setup(t).visitor()
	for _, path := range []string{"/console/outbox", "/console/outbox/mail_1"} {
		if a := v.see(path); a.status != http.StatusNotFound {
			t.Errorf("%s without an outbox: %d", path, a.status)
		}
	}
}

func TestTheOutboxShowsMailsToVisitors(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	mails, err := mail.New(db, mail.Options{Key: [32]byte{7}, Now: time.Now, IDs: app.IDs{Now: time.Now, Random: rand.Reader}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	v := newFixture(t, db, db, nil, func(o *console.Options) { o.Outbox = mails }).visitor()
	if a := v.see("/console/outbox"); a.status != http.StatusOK || !strings.Contains(a.body, "No mail yet") {
		t.Fatalf("an empty outbox: %d %s", a.status, a.body)
	}
	for _, to := range []string{"first@example.com", "second@example.com"} {
		m := mail.Message{To: to, Subject: "Confirm <it>", Text: "Go to http://gateway.test/console/verify?t=1.", HTML: "<i>raw</i>", Kind: "verify_email"}
		if err := mails.Send(t.Context(), db, m); err != nil {
			t.Fatal(err)
		}
	}
	list := unbroken(v.see("/console/outbox").body)
	if first, second := strings.Index(list, "first@example.com"), strings.Index(list, "second@example.com"); second < 0 || first < second {
		t.Fatalf("not the newest first: %s", list)
	}
	one := v.see(regexp.MustCompile(`/console/outbox/mail_[0-9a-z]{26}`).FindString(list))
	if one.status != http.StatusOK || !strings.Contains(one.body, `href="http://gateway.test/console/verify?t=1"`) ||
		!strings.Contains(one.body, "Confirm &lt;it&gt;") || strings.Contains(one.body, "<i>raw</i>") {
		t.Fatalf("one mail: %d %s", one.status, one.body)
	}
	if a := v.see("/console/outbox/mail_00000000000000000000000000"); a.status != http.StatusNotFound {
		t.Fatalf("a mail that is not there: %d", a.status)
	}
}
