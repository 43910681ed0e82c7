package billing_test

import (
	"testing"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
)

// BenchmarkEncode measures the encoding of a mark or a settlement before it is in the journal.
func BenchmarkEncode(b *testing.B) {
	h := billing.Hold{
		ID: "req_01jd0000000000000000000000", AccountID: "acc_01jd0000000000000000000000", BudgetID: "key_01jd0000000000000000000000",
		Amount: app.Cent, Epoch: 7,
	}
	now := time.Now()
	s := billing.Settlement{Cost: 123_456, Delivered: true, Record: billing.UsageRecord{
		KeyID: "key_01jd0000000000000000000000", Model: "meridian/atlas-small", Provider: "meridian", UpstreamModel: "atlas-small-2",
		Style: "chat", RateCardID: "rate_01jd0000000000000000000000", EndUser: "user_123", FinishReason: "stop", Outcome: "succeeded",
		Reason: string(billing.ReasonCompleted), Attempts: 1, StartedAt: now, FirstByte: time.Second, Duration: 2 * time.Second,
		Usage: meter.Counts{meter.InputTokens: 1_234, meter.CacheReadTokens: 512, meter.OutputTokens: 321, meter.Requests: 1},
	}}
	b.ReportAllocs()
	for b.Loop() {
		_ = s.Encode(h, "rep_01jd0000000000000000000000", now)
	}
}
