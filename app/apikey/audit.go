package apikey

import (
	"strconv"
	"time"

	"umg/app"
	"umg/app/audit"
)

// differences are the fields in which two keys differ, under the names they have in the API.
func differences(before, after Spec) []audit.Change {
	from, to := before.fields(), after.fields()
	for i := range from {
		from[i].To = to[i].From
	}
	return audit.Changed(from...)
}

// fields writes what was decided about a key as people read it.
func (spec Spec) fields() []audit.Change {
	return []audit.Change{
		{Field: "name", From: spec.Name},
		{Field: "environment", From: spec.Env},
		{Field: "error_mode", From: string(spec.ErrorMode)},
		{Field: "scopes", From: app.JoinWords(spec.Scopes)},
		{Field: "models", From: app.JoinWords(spec.Models)},
		{Field: "addresses", From: app.JoinWords(wordsOf(spec.Addresses))},
		{Field: "concurrency", From: countOf(int64(spec.Concurrency))},
		{Field: "requests_per_minute", From: countOf(spec.RequestsPerMinute)},
		{Field: "tokens_per_minute", From: countOf(spec.TokensPerMinute)},
		{Field: "log_content", From: answerOf(spec.LogContent)},
		{Field: "strict", From: answerOf(spec.Strict)},
		{Field: "expires_at", From: momentOf(spec.ExpiresAt)},
		{Field: "budget", From: spec.Budget.String()},
		alertsOf(spec.BudgetAlerts),
	}
}

func countOf(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func answerOf(yes bool) string {
	if yes {
		return "yes"
	}
	return ""
}

func momentOf(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
