package operator_test

import (
	"testing"
	"time"

	"umg/app"
)

// refuse writes a refusal that stands for several.
func (o *office) refuse(id, account, key, model, code string, ago time.Duration, represents int) {
	o.exec(`insert into refusals (request_id, account_id, key_id, at, method, route, style, model, status, code, param, message,
		duration_micros, represents) values ($1, $2, $3, $4, 'POST', '/v1/x', 'chat', $5, 429, $6, '', 'x', 1, $7)`,
		id, account, key, time.Now().Add(-ago), model, code, represents)
}

func TestTheMostRefusedAccountsComeFirst(t *testing.T) {
	t.Parallel()
	o := open(t)
	first, _ := o.account("Harbour", "noor@harbour.example", app.Dollar)
	second, _ := o.account("Quarry", "lee@quarry.example", app.Dollar)
	o.refuse("r1", first, "key_a", "atlas", "rate_limit_exceeded", time.Minute, 7)
	o.refuse("r2", first, "key_b", "atlas", "insufficient_credit", time.Minute, 2)
	o.refuse("r3", second, "key_c", "", "insufficient_credit", time.Minute, 10)
	o.refuse("r4", first, "key_a", "atlas", "rate_limit_exceeded", 2*time.Hour, 1000)
	list, models, err := o.Refused(t.Context())
	if err != nil || len(list) != 2 || list[0].AccountID != second || list[0].Refused != 10 || list[1].Refused != 9 ||
		list[1].RefusedMost != "rate_limit_exceeded" || len(models) != 1 || models["atlas"] != 9 {
		t.Errorf("%+v, %v, %v", list, models, err)
	}
	o.exec(`insert into api_keys (id, account_id, secret_hash, name, prefix, last_four, env, error_mode, models, concurrency, created_at)
		values ('key_a', $1, decode(repeat('ab', 32), 'hex'), 'k', 'sk', 'abcd', 'live', 'standard', '{}', 0, now())`, first)
	for _, c := range []struct {
		key                              string
		requests, failed, firstByteMicro int
	}{{"key_a", 8, 2, 8000}, {"key_b", 2, 0, 2000}} {
		o.exec(`insert into usage_rollups (account_id, slot, key_id, model, style, reason, requests, streamed, meters, cost_nanos,
			overrun_nanos, first_byte_micros, duration_micros, failed) select $1, date_bin('15 minutes', now(), '2000-01-01 00:00+00'), $2, 'm',
			'chat', 'r', $3, 0, '{}', 0, 0, $4, 0, $5`, first, c.key, c.requests, c.firstByteMicro, c.failed)
	}
	for _, want := range []struct {
		text                   string
		calls, failed, refused int64
	}{{"noor@", 10, 2, 9}, {" HARBOUR ", 10, 2, 9}, {"KEY_A", 8, 2, 7}} {
		text := want.text
		found, err := o.Callers(t.Context(), text)
		if err != nil || len(found) != 1 || found[0].AccountID != first || found[0].Calls != want.calls || found[0].Failed != want.failed ||
			found[0].Refused != want.refused || found[0].FirstByte() != time.Millisecond {
			t.Errorf("%s: %+v, %v", text, found, err)
		}
	}
	for _, text := range []string{"", "nothing", "a\x00"} {
		if found, err := o.Callers(t.Context(), text); err != nil || len(found) != 0 {
			t.Errorf("%q: %+v, %v", text, found, err)
		}
	}
}
