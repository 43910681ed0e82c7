package billing_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
)

// TestASettlementSurvivesTheJournal reads back what was encoded, and encodes it to the same bytes.
func TestASettlementSurvivesTheJournal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, number := rapid.String(), rapid.Int64()
		hold := billing.Hold{
			ID: "req_" + text.Draw(t, "id"), AccountID: "acc_1", BudgetID: text.Draw(t, "budget"), Epoch: rapid.Int64Min(0).Draw(t, "epoch"),
			Amount: app.Amount(rapid.Int64Range(0, 1<<60).Draw(t, "held")),
		}
		s := billing.Settlement{Cost: app.Amount(rapid.Int64Range(0, 1<<61).Draw(t, "cost")), Delivered: true, Record: billing.UsageRecord{
			KeyID: text.Draw(t, "key"), Model: text.Draw(t, "model"), EndUser: text.Draw(t, "user"), Reason: "completed", Outcome: "succeeded",
			Streamed: rapid.Bool().Draw(t, "streamed"), Attempts: int(number.Draw(t, "attempts")),
			StartedAt: time.Unix(rapid.Int64Range(1e9, 4e9).Draw(t, "start"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos")),
			Duration:  time.Duration(number.Draw(t, "duration")),
		}}
		for range rapid.IntRange(0, billing.AttemptsKept).Draw(t, "attempts kept") {
			s.Record.Trail.Attempts = append(s.Record.Trail.Attempts, billing.Attempt{
				Provider: text.Draw(t, "provider"), Cause: text.Draw(t, "cause"), Status: rapid.IntRange(0, 999).Draw(t, "status"),
				Start: time.Duration(number.Draw(t, "start")), Took: time.Duration(number.Draw(t, "took")),
			})
		}
		for m := range s.Record.Usage {
			s.Record.Usage[m] = number.Draw(t, "reading")
		}
		amount := rapid.Map(rapid.Int64Range(0, 1<<45), func(n int64) *app.Amount { return new(app.Amount(n)) })
		s.Record.ProviderCost = rapid.OneOf(amount, rapid.Just[*app.Amount](nil)).Draw(t, "provider cost")
		s.Record.UpstreamCost = rapid.OneOf(amount, rapid.Just[*app.Amount](nil)).Draw(t, "upstream cost")
		s.Record.CostCardID, s.Record.Flags = text.Draw(t, "cost card"), text.Draw(t, "flags")
		s.Record.Terms = meter.Terms{ServiceTier: text.Draw(t, "tier"), Region: text.Draw(t, "region"), Quality: text.Draw(t, "quality")}
		encoded := s.Encode(hold, "replica", time.Now())
		read, err := billing.DecodeSettlement(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if again := read.Settlement.Encode(read.Hold, read.ReplicaID, time.Time{}); !bytes.Equal(encoded, again) {
			t.Fatalf("encoded %s\nagain   %s", encoded, again)
		}
		if n := len(s.Record.Trail.Attempts); len(read.Settlement.Record.Trail.Attempts) != n ||
			n > 0 && read.Settlement.Record.Trail.Attempts[n-1].Status != s.Record.Trail.Attempts[n-1].Status {
			t.Fatalf("read %+v of %+v", read.Settlement.Record.Trail, s.Record.Trail)
		}
		sameUsage(t, &s.Record, &read.Settlement.Record)
		if read.Settlement.Cost != s.Cost || read.Hold.Amount != hold.Amount || read.Hold.Epoch != hold.Epoch || read.ReplicaID != "replica" ||
			read.Settlement.Record.Cost != hold.Charge(s.Cost) {
			t.Fatalf("read %+v of %+v, %+v", read, hold, s)
		}
	})
}

// sameUsage compares the counts, costs and terms of two records. Counts are bounded, and words of the terms are made storable.
func sameUsage(t *rapid.T, wrote, read *billing.UsageRecord) {
	for m, n := range wrote.Usage {
		if want := min(max(n, 0), 1<<45); read.Usage[m] != want {
			t.Fatalf("%s is read as %d, want %d", meter.Meter(m), read.Usage[m], want)
		}
	}
	for name, costs := range map[string][2]*app.Amount{
		"provider": {wrote.ProviderCost, read.ProviderCost}, "upstream": {wrote.UpstreamCost, read.UpstreamCost},
	} {
		if (costs[0] == nil) != (costs[1] == nil) || costs[0] != nil && *costs[0] != *costs[1] {
			t.Fatalf("the %s cost %v is read as %v", name, costs[0], costs[1])
		}
	}
	for name, words := range map[string][2]string{
		"tier": {wrote.Terms.ServiceTier, read.Terms.ServiceTier}, "region": {wrote.Terms.Region, read.Terms.Region},
		"quality": {wrote.Terms.Quality, read.Terms.Quality},
	} {
		plain := !strings.ContainsFunc(words[0], func(c rune) bool { return c <= ' ' || c > '~' }) && len(words[0]) <= 64
		if plain && words[0] != words[1] || (words[0] == "") != (words[1] == "") {
			t.Fatalf("the %s %q is read as %q", name, words[0], words[1])
		}
	}
	if !read.Terms.At.Equal(read.StartedAt) {
		t.Fatalf("the terms are of %s, the record of %s", read.Terms.At, read.StartedAt)
	}
}

// TestASettlementLeavesOutWhatMostCallsLack keeps records of ordinary calls small.
func TestASettlementLeavesOutWhatMostCallsLack(t *testing.T) {
	t.Parallel()
	s := billing.Settlement{Record: billing.UsageRecord{
		StartedAt: time.Unix(1e9, 0), Usage: meter.Counts{meter.InputTokens: 5, meter.OutputTokens: 7, meter.Requests: 1},
	}}
	hold := billing.Hold{ID: "req_1", AccountID: "acc_1"}
	text := string(s.Encode(hold, "r", time.Now()))
	if !strings.Contains(text, `"meters":[5,0,0,7,0,0,0,0,1]`) {
		t.Errorf("zeros at the end are not cut: %s", text)
	}
	for _, member := range []string{"terms", "flags", "provider_cost_nanos", "upstream_cost_nanos", "cost_card_id"} {
		if strings.Contains(text, member) {
			t.Errorf("%s is written without a value: %s", member, text)
		}
	}
	s.Record.Usage = meter.Counts{}
	if text := string(s.Encode(hold, "r", time.Now())); !strings.Contains(text, `"meters":[]`) {
		t.Errorf("no usage is written as %s", text)
	}
}

// oldSettlement is a settlement in the format from before there were trails and an array of meters.
const oldSettlement = `{"started_at":"2026-11-01T10:00:00Z","day":"2026-11-01","request_id":"req_1","account_id":"acc_1","budget_id":"",` +
	`"replica_id":"r","key_id":"k","model":"m","provider":"p","upstream_model":"u","style":"chat","rate_card_id":"c","end_user":"",` +
	`"finish_reason":"stop","error_code":"","outcome":"succeeded","reason":"completed","epoch":3,"reserved_nanos":9,"cost_nanos":7,` +
	`"overrun_nanos":0,"attempts":2,"input_tokens":1,"cache_read_tokens":2,"cache_write_tokens":3,"output_tokens":4,"reasoning_tokens":5,` +
	`"images":6,"milliseconds":7,"characters":8,"requests":0,"first_byte_micros":5,"duration_micros":6,"streamed":true,"estimated":false}`

// TestAJournalOfBeforeIsStillRead reads a settlement of an earlier release. What is encoded again is the same record in today's format.
func TestAJournalOfBeforeIsStillRead(t *testing.T) {
	t.Parallel()
	old, err := billing.DecodeSettlement([]byte(oldSettlement))
	if err != nil {
		t.Fatal(err)
	}
	if want := (meter.Counts{1, 2, 3, 4, 5, 6, 7, 8}); old.Settlement.Record.Usage != want {
		t.Errorf("the usage is %v, want %v", old.Settlement.Record.Usage, want)
	}
	encoded := old.Settlement.Encode(old.Hold, old.ReplicaID, time.Time{})
	if !strings.Contains(string(encoded), `"meters":[1,2,3,4,5,6,7,8]`) || strings.Contains(string(encoded), "input_tokens") {
		t.Errorf("it is written as %s", encoded)
	}
	again, err := billing.DecodeSettlement(encoded)
	if err != nil || !reflect.DeepEqual(old, again) {
		t.Errorf("read  %+v\nagain %+v, %v", old, again, err)
	}
}

func FuzzDecodeSettlement(f *testing.F) {
	hold := billing.Hold{ID: "req_1", AccountID: "acc_1", Amount: 5, Epoch: 2}
	f.Add(billing.Settlement{Cost: 7, Record: billing.UsageRecord{Model: "m", StartedAt: time.Unix(1e9, 0)}}.Encode(hold, "r", time.Time{}))
	f.Add([]byte(`{"request_id":"r","account_id":"a","reserved_nanos":9223372036854775807,"cost_nanos":9223372036854775807,"overrun_nanos":1}`))
	f.Add([]byte(`{"request_id":"r","account_id":"a","started_at":"2020-01-01T00:00:00Z","trail":"1,2,3,4,5 p:-503:x:9:0:1  q:200::-1:1:0"}`))
	f.Add([]byte(oldSettlement))
	f.Add([]byte(`{"request_id":"r","account_id":"a","started_at":"2020-01-01T00:00:00Z","meters":[1,-2,0],"terms":"speed=fast x","flags":"unpriced"}`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"started_at":"0001-01-01T00:00:00Z"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := billing.DecodeSettlement(data)
		if err != nil {
			return
		}
		if read.Hold.ID == "" || read.Hold.AccountID == "" || read.Settlement.Cost < 0 || read.Hold.Amount < 0 || read.Settlement.Record.Cost > read.Hold.Amount {
			t.Errorf("read %+v", read)
		}
		encoded := read.Settlement.Encode(read.Hold, read.ReplicaID, time.Time{})
		again, err := billing.DecodeSettlement(encoded)
		if err != nil {
			t.Fatalf("%s: %v", encoded, err)
		}
		if twice := again.Settlement.Encode(again.Hold, again.ReplicaID, time.Time{}); !bytes.Equal(encoded, twice) {
			t.Errorf("encoded %s\nagain   %s", encoded, twice)
		}
	})
}
