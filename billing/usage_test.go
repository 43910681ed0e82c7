package billing_test

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app"
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
		if read.Settlement.Cost != s.Cost || read.Hold.Amount != hold.Amount || read.Hold.Epoch != hold.Epoch || read.ReplicaID != "replica" ||
			read.Settlement.Record.Cost != hold.Charge(s.Cost) {
			t.Fatalf("read %+v of %+v, %+v", read, hold, s)
		}
	})
}

// TestAJournalOfBeforeIsStillRead reads settlements without a trail, in the format from before trails existed.
func TestAJournalOfBeforeIsStillRead(t *testing.T) {
	t.Parallel()
	old := []byte(`{"started_at":"2026-11-01T10:00:00Z","day":"2026-11-01","request_id":"req_1","account_id":"acc_1","budget_id":"","replica_id":"r",` +
		`"key_id":"k","model":"m","provider":"p","upstream_model":"u","style":"chat","rate_card_id":"c","end_user":"","finish_reason":"stop",` +
		`"error_code":"","outcome":"succeeded","reason":"completed","epoch":3,"reserved_nanos":9,"cost_nanos":7,"overrun_nanos":0,"attempts":2,` +
		`"input_tokens":1,"cache_read_tokens":0,"cache_write_tokens":0,"output_tokens":2,"reasoning_tokens":0,"images":0,"milliseconds":0,` +
		`"characters":0,"requests":0,"first_byte_micros":5,"duration_micros":6,"streamed":true,"estimated":false}`)
	read, err := billing.DecodeSettlement(old)
	if err != nil {
		t.Fatal(err)
	}
	if again := read.Settlement.Encode(read.Hold, read.ReplicaID, time.Time{}); !bytes.Equal(again, old) {
		t.Errorf("read    %s\nwritten %s", old, again)
	}
}

func FuzzDecodeSettlement(f *testing.F) {
	hold := billing.Hold{ID: "req_1", AccountID: "acc_1", Amount: 5, Epoch: 2}
	f.Add(billing.Settlement{Cost: 7, Record: billing.UsageRecord{Model: "m", StartedAt: time.Unix(1e9, 0)}}.Encode(hold, "r", time.Time{}))
	f.Add([]byte(`{"request_id":"r","account_id":"a","reserved_nanos":9223372036854775807,"cost_nanos":9223372036854775807,"overrun_nanos":1}`))
	f.Add([]byte(`{"request_id":"r","account_id":"a","started_at":"2020-01-01T00:00:00Z","trail":"1,2,3,4,5 p:-503:x:9:0:1  q:200::-1:1:0"}`))
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
