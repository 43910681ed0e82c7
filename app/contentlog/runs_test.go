package contentlog

import (
	"strings"
	"testing"
	"time"

	"umg/app"
)

// answerOf is an answer of a run of account a.
func (b *bench) answerOf(run string, pane int, content string) RunAnswer {
	return RunAnswer{
		AccountID: "acct_a", RunID: run, Pane: pane, RequestID: "req_" + run, UserID: "user_1", At: b.clock.Now(), Model: "m", Title: "hello",
		Content: content,
	}
}

// keeps fails the test unless keeping an answer has the result.
func (b *bench) keeps(a RunAnswer, want bool) {
	b.t.Helper()
	kept, err := b.KeepRunAnswer(b.t.Context(), a)
	b.must(err)
	if kept != want {
		b.t.Errorf("%s, pane %d: kept is %v", a.RunID, a.Pane, kept)
	}
}

// runs are how many answers an account sees.
func (b *bench) runs(account string) int {
	b.t.Helper()
	list, err := b.RunAnswers(b.t.Context(), account, 100)
	b.must(err)
	return len(list)
}

func TestRunsAreKeptOnlyWhereTheContentOfAllCallsIs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keeps(b.answerOf("run_1", 0, `{}`), false)
	b.must(b.Change(t.Context(), of("acct_a"), Asked, 30))
	b.keeps(b.answerOf("run_1", 0, `{}`), false)
	b.must(b.Change(t.Context(), of("acct_a"), All, 30))
	secret := "sk-umg-" + strings.Repeat("a1b2", 12)
	b.keeps(b.answerOf("run_1", 0, `{"text":"my key is `+secret+`"}`), true)
	b.keeps(b.answerOf("run_1", 0, `{"text":"again"}`), false)
	b.keeps(b.answerOf("run_1", 1, `{}`), true)
	b.keeps(b.answerOf("run_2", 0, `{"text":"`+strings.Repeat("x", RunAnswerBytesMax)+`"}`), false)
	b.keeps(b.answerOf("run_2", 0, `{"text":`), false)
	other := b.answerOf("run_1", 2, `{}`)
	other.UserID = "user_2"
	b.keeps(other, false)
	list, err := b.RunAnswersOf(t.Context(), "acct_a", "run_1")
	b.must(err)
	if len(list) != 2 || strings.Contains(list[0].Content, secret) || !strings.Contains(list[0].Content, "my key is") {
		t.Errorf("the run is %+v", list)
	}
	if _, err := b.RunAnswersOf(t.Context(), "acct_b", "run_1"); app.KindOf(err) != app.NotFound || b.runs("acct_b") != 0 {
		t.Errorf("another account reads it: %v", err)
	}
	if err := b.DeleteRun(t.Context(), of("acct_b"), "run_1"); app.KindOf(err) != app.NotFound {
		t.Errorf("another account deletes it: %v", err)
	}
	b.must(b.DeleteRun(t.Context(), of("acct_a"), "run_1"))
	if b.runs("acct_a") != 0 {
		t.Error("a deleted run is listed")
	}
}

func TestRunsEndWithTheContent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(b.Change(t.Context(), of("acct_a"), All, 2))
	b.say("acct_a", "req_run_1", "{}", "{}")
	b.keeps(b.answerOf("run_1", 0, `{}`), true)
	b.keeps(b.answerOf("run_2", 0, `{}`), true)
	b.must(b.Delete(t.Context(), of("acct_a"), "req_run_1"))
	if b.runs("acct_a") != 1 {
		t.Error("deleting the content of a call leaves its run")
	}
	b.clock.Advance(48*time.Hour + time.Second)
	if b.runs("acct_a") != 0 {
		t.Error("a run is listed after its days")
	}
	b.must(b.sweep(t.Context()))
	var rows int
	b.must(b.db.Get(&rows, `select count(*) from playground_runs`))
	if rows != 0 {
		t.Errorf("%d rows after their days", rows)
	}
	b.keeps(b.answerOf("run_3", 0, `{}`), true)
	b.clock.Advance(time.Second)
	b.must(b.Clear(t.Context(), of("acct_a")))
	b.must(b.db.Get(&rows, `select count(*) from playground_runs`))
	if rows != 0 {
		t.Errorf("%d rows after all content was deleted", rows)
	}
	for range runAnswersMax + 1 {
		b.clock.Advance(time.Millisecond)
		b.keeps(b.answerOf("run_"+b.clock.Now().Format("150405.000"), 0, `{}`), true)
	}
	b.must(b.db.Get(&rows, `select count(*) from playground_runs`))
	if rows != runAnswersMax {
		t.Errorf("%d answers are kept, want %d", rows, runAnswersMax)
	}
}
