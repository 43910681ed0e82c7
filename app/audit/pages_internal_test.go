package audit

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"umg/app"
	"umg/app/postgres/pgtest"
)

// TestAnExportThatIsTooLongSaysHowLongItMayBe walks more entries than a log with a bound of one page may.
func TestAnExportThatIsTooLongSaysHowLongItMayBe(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	l := New(db, time.Now, app.IDs{Now: time.Now, Random: rand.Reader})
	l.pagesMax = 1
	db.MustExec(`insert into accounts (id, created_at) values ('acct_a', now())`)
	for range pageMax + 1 {
		if err := l.Write(t.Context(), db, app.Principal{AccountID: "acct_a"}, Event{Action: "account.renamed", Object: "acct_a"}); err != nil {
			t.Fatal(err)
		}
	}
	entries := 0
	var last error
	for page, err := range l.Pages(t.Context(), "acct_a", Filter{}) {
		entries, last = entries+len(page), err
	}
	e := app.AsError(last)
	if entries != pageMax || e == nil || e.Code != "export_too_long" || e.Message != fmt.Sprintf("More than %d entries match. Narrow the time with from and to.", pageMax) {
		t.Errorf("%d entries, then %v", entries, last)
	}
}
