package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"umg/app/console"
	"umg/app/notice"
	"umg/app/postgres/pgtest"
)

var noteID = regexp.MustCompile(`name="id" value="([^"]+)"`)

func TestAFrozenAccountIsANoticeThatCountsUntilItIsRead(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	h := over(t, db, db, nil, func(o *console.Options) { o.Notices = notice.New(db, time.Now) })
	p := h.signedIn("told@example.com")
	if _, err := db.Exec(`update accounts set frozen_at = now(), frozen_reason = 'A payment is disputed.'`); err != nil {
		t.Fatal(err)
	}
	a := p.see("/console/notifications")
	id := noteID.FindStringSubmatch(a.body)
	if a.status != http.StatusOK || id == nil || !strings.Contains(a.body, "The account is frozen") || !strings.Contains(a.body, "1 unread") {
		t.Fatalf("%d: no notice of the frozen account", a.status)
	}
	if a := p.send("/console/notifications/read", url.Values{"id": {id[1]}}); a.status != http.StatusSeeOther {
		t.Fatalf("read: %d %s", a.status, a.body)
	}
	if a := p.see("/console/notifications"); strings.Contains(a.body, "unread") || !strings.Contains(a.body, "The account is frozen") {
		t.Error("a notice that was read counts, or is gone")
	}
}

func TestHowToHearOfEventsIsKept(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	h := over(t, db, db, nil, func(o *console.Options) { o.Notices = notice.New(db, time.Now) })
	p := h.signedIn("chooser@example.com")
	if a := p.send("/console/settings/notifications", url.Values{"mail": {"webhook"}, "console": {"key_expiry"}}); a.status != http.StatusSeeOther {
		t.Fatalf("%d %s", a.status, a.body)
	}
	a := p.see("/console/settings/notifications")
	for box, on := range map[string]bool{"mail-webhook": true, "mail-low_balance": false, "console-webhook": false, "console-key_expiry": true} {
		tag := regexp.MustCompile(`<input[^>]*id="notify-` + box + `"[^>]*>`).FindString(a.body)
		if tag == "" || strings.Contains(tag, "checked") != on {
			t.Errorf("%s: %q, want ticked: %v", box, tag, on)
		}
	}
}
