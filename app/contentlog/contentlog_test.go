package contentlog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"umg/app"
)

func TestAnAccountDecidesWhatIsKeptAndForHowLong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.say("acct_a", "req_0", "before a decision", "x")
	if got, err := b.Settings(t.Context(), "acct_a"); err != nil || got.Keep != Never || got.Days != DaysStandard {
		t.Fatalf("%+v, %v", got, err)
	}
	for _, wrong := range []struct {
		keep Policy
		days int
	}{{"some", 30}, {All, 0}, {All, DaysMax + 1}} {
		if err := b.Change(t.Context(), of("acct_a"), wrong.keep, wrong.days); app.KindOf(err) != app.Invalid {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	if err := b.Change(t.Context(), of("acct_none"), All, 1); app.KindOf(err) != app.NotFound {
		t.Errorf("an account that is none: %v", err)
	}
	b.must(b.Change(t.Context(), of("acct_a"), All, 10))
	b.must(b.Change(t.Context(), of("acct_a"), All, 10)) // the settings are equal, so there is no audit entry
	if n := b.count(`select count(*) from audit_entries where action = 'account.content_changed'`); n != 1 {
		t.Errorf("%d entries", n)
	}
	b.say("acct_a", "req_1", `{"q":"my key is sk-umg-`+long(40)+`"}`, `{"a":"`+strings.Repeat("word ", 20_000)+`"}`)
	b.say("acct_b", "req_2", "b never asked for this", "x")
	if _, found := b.kept("acct_a", "req_0"); found {
		t.Error("kept before it was wanted")
	}
	k, found := b.kept("acct_a", "req_1")
	if !found || k.Request != `{"q":"my key is [redacted API key]"}` || k.Redacted != 1 || k.RequestCut || !k.AnswerCut ||
		len(k.Answer) != BytesMax || k.AnswerBytes != 100_008 || !k.ExpiresAt.Equal(b.clock.Now().AddDate(0, 0, 10)) {
		t.Errorf("%v %+.300v", found, k)
	}
	if _, found := b.kept("acct_b", "req_1"); found {
		t.Error("another account sees it")
	}
	if err := b.Delete(t.Context(), of("acct_b"), "req_1"); app.KindOf(err) != app.NotFound {
		t.Errorf("another account deletes it: %v", err)
	}
	if n := b.count(`select count(*) from content_logs`); n != 1 {
		t.Errorf("%d are kept", n)
	}
	if got, _ := b.Settings(t.Context(), "acct_a"); got.KeptBytes != int64(len(k.Request)+len(k.Answer)) {
		t.Errorf("%+v", got)
	}
	if b.memory.Left() != memoryBytesMax {
		t.Errorf("%d bytes of memory are left", b.memory.Left())
	}
}

func TestContentGoesByHandAndByItsDays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, a := range []string{"acct_a", "acct_b"} {
		b.must(b.Change(t.Context(), of(a), All, 10))
		b.say(a, "req_1", "one", "1")
		b.say(a, "req_2", "two", "2")
	}
	b.must(b.Delete(t.Context(), of("acct_a"), "req_1"))
	if k, found := b.kept("acct_a", "req_1"); !found || k.DeletedAt == nil || k.Request+k.Answer != "" {
		t.Errorf("%v %+v", found, k)
	}
	if err := b.Delete(t.Context(), of("acct_a"), "req_1"); app.KindOf(err) != app.NotFound || app.AsError(err).Code != "content_not_found" {
		t.Errorf("twice: %v", err)
	}
	slow := b.Start(Call{AccountID: "acct_a", RequestID: "req_3", Style: "chat", At: b.clock.Now()})
	slow.Hear([]byte("runs while all is deleted"))
	b.clock.Advance(time.Second)
	b.must(b.Clear(t.Context(), of("acct_a")))
	slow.Expect("m")
	slow.End()
	b.flush(t.Context())
	if n := b.count(`select count(*) from content_logs where account_id = 'acct_a'`); n != 0 {
		t.Errorf("%d are left", n)
	}
	if got, _ := b.Settings(t.Context(), "acct_a"); got.KeptBytes != 0 || got.ClearedAt == nil || got.Keep != All {
		t.Errorf("%+v", got)
	}
	b.clock.Advance(10*24*time.Hour - time.Second)
	if _, found := b.kept("acct_b", "req_2"); found {
		t.Error("seen after its days")
	}
	b.must(b.sweep(t.Context()))
	if n := b.count(`select count(*) from content_logs`); n != 0 {
		t.Errorf("%d are left", n)
	}
	b.say("acct_b", "req_4", "four", "4")
	b.must(b.Change(t.Context(), of("acct_b"), Never, 1))
	b.say("acct_b", "req_5", "five", "5")
	if _, found := b.kept("acct_b", "req_4"); !found {
		t.Error("what was kept is gone with the wish for more")
	}
	if _, found := b.kept("acct_b", "req_5"); found {
		t.Error("kept although it is not wanted any more")
	}
	b.clock.Advance(25 * time.Hour)
	if _, found := b.kept("acct_b", "req_4"); found {
		t.Error("fewer days do not count for what is kept already")
	}
}

func TestTheOldestGoWhereAnAccountHasTooMuch(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.most = 1000
	b.must(b.Change(t.Context(), of("acct_a"), All, 10))
	for i := range 15 {
		b.say("acct_a", fmt.Sprintf("req_%d", i), strings.Repeat("x", 50), strings.Repeat("y", 50))
		b.clock.Advance(time.Second)
	}
	if n := b.count(`select count(*) from content_logs`); n != 13 { // above the limit by a quarter
		t.Errorf("%d are kept", n)
	}
	b.must(b.sweep(t.Context()))
	got, _ := b.Settings(t.Context(), "acct_a")
	if n := b.count(`select count(*) from content_logs`); n != 10 || got.KeptBytes != 1000 {
		t.Errorf("%d are kept, %d bytes", n, got.KeptBytes)
	}
	if _, found := b.kept("acct_a", "req_12"); !found || b.Stats() != (Stats{Kept: 13, Dropped: 2}) {
		t.Errorf("%v, %+v", found, b.Stats())
	}
}

func TestNoOneWaitsForContent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(b.Change(t.Context(), of("acct_a"), All, 10))
	call := func() {
		tape := b.Start(Call{AccountID: "acct_a", Style: "chat", At: b.clock.Now()})
		tape.Hear([]byte(strings.Repeat("x", BytesMax)))
		tape.Expect("m")
		tape.End()
	}
	for range memoryBytesMax/BytesMax + 10 { // more calls than the memory limit allows
		call()
	}
	if got := b.Stats().Dropped; got != 10 {
		t.Errorf("%d were given up", got)
	}
	for len(b.queue) > 0 {
		(<-b.queue).row()
	}
	for range queueCallsMax + 5 {
		tape := b.Start(Call{AccountID: "acct_a", Style: "chat", At: b.clock.Now()})
		tape.End()
	}
	if got := b.Stats().Dropped; got != 15 {
		t.Errorf("%d were given up", got)
	}
	for len(b.queue) > 0 {
		(<-b.queue).row()
	}
	if b.memory.Left() != memoryBytesMax {
		t.Errorf("%d bytes of memory are left", b.memory.Left())
	}
	unfit := b.Start(Call{AccountID: "acct_a", Style: "chat"})
	unfit.Hear([]byte("refused"))
	unfit.Abandon()
	unfit.End()
	if len(b.queue) != 0 || b.memory.Left() != memoryBytesMax {
		t.Error("a call without a record is kept")
	}
	var none *Recorder
	none.Hear(nil)
	none.Expect("")
	none.Error(nil)
	none.End()
	none.Abandon()
}
