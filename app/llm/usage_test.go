package llm_test

import (
	"testing"

	"pgregory.net/rapid"

	"umg/app/llm"
)

// TestAReportIsNeverWorthMoreThanItSays draws reports of any kind. What is taken over of them can be true, and no count is
// larger than the report has it.
func TestAReportIsNeverWorthMoreThanItSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.OneOf(rapid.Int64Range(-2, 12), rapid.Int64Range(llm.TokensMax-3, llm.TokensMax+3))
		r := llm.Report{
			Input: count.Draw(t, "input"), CacheRead: count.Draw(t, "read"), CacheWrite: count.Draw(t, "write"),
			Output: count.Draw(t, "output"), Reasoning: count.Draw(t, "reasoning"), Inclusive: rapid.Bool().Draw(t, "inclusive"),
		}
		u, known := r.Usage()
		isCount := func(n int64) bool { return n >= 0 && n <= llm.TokensMax }
		if known != (isCount(r.Input) || isCount(r.Output)) || !known && u != (llm.Usage{}) || !u.Valid() {
			t.Fatalf("%+v of %+v, %t", u, r, known)
		}
		if u.Input > max(r.Input, 0) || u.CacheRead > max(r.CacheRead, 0) || u.CacheWrite > max(r.CacheWrite, 0) || u.Output > max(r.Output, 0) ||
			u.Reasoning > max(r.Reasoning, 0) {
			t.Fatalf("%+v is more than %+v", u, r)
		}
		if known && isCount(r.Output) != (u.Doubts&llm.OutputUnknown == 0) || known && isCount(r.Input) != (u.Doubts&llm.InputUnknown == 0) {
			t.Fatalf("%+v of %+v", u, r)
		}
		if r.Inclusive && isCount(r.Input) && u.InputTotal() != r.Input {
			t.Fatalf("%d input tokens of %+v", u.InputTotal(), r)
		}
	})
}
