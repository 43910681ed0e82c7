package billing_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"umg/app"
	"umg/app/meter"
	"umg/billing"
)

func checkpointAt(tokens int64) (billing.Hold, billing.Settlement) {
	hold := billing.Hold{ID: "req_1", AccountID: "acc_1", BudgetID: "key_1", Amount: 50_000, Epoch: 7}
	s := billing.Settlement{Cost: app.Amount(tokens), Delivered: true, Record: billing.UsageRecord{
		KeyID: "key_1", Model: "meridian/atlas", Provider: "meridian", UpstreamModel: "atlas", Style: "chat", RateCardID: "rate_1", EndUser: "u",
		Outcome: "cut", Reason: "crashed", Streamed: true, Estimated: true, Attempts: 1, FirstByte: time.Second,
		StartedAt: time.Date(2026, 11, 27, 12, 0, 0, 1234, time.UTC), Duration: time.Duration(tokens) * time.Millisecond,
		Terms: meter.Terms{ServiceTier: "flex"}, Flags: "unpriced",
		Trail: billing.RequestTiming{Door: 1000, Body: 2000, Checked: 3000, Admitted: 4000, Funded: 5000, Attempts: []billing.Attempt{
			{Provider: "meridian", Status: 200, Cause: "reset", Start: 6000, First: 7000, Took: 8000},
		}},
	}}
	s.Record.Usage[meter.InputTokens], s.Record.Usage[meter.OutputTokens] = 1000, tokens
	s.Record.ProviderCost, s.Record.UpstreamCost = new(app.Amount(10)), new(app.Amount(tokens))
	s.Record.CostCardID, s.Record.Credential = "cost_1", "cred"
	return hold, s
}

// restore applies the change of a checkpoint to the one that was written whole, as a recovery does.
func restore(t interface{ Fatal(args ...any) }, whole, change []byte) []byte {
	read, err := billing.DecodeSettlement(whole)
	if err == nil {
		err = read.Change(change)
	}
	if err != nil {
		t.Fatal(err)
	}
	return read.Settlement.Encode(read.Hold, read.ReplicaID, time.Time{})
}

// TestAChangedCheckpointIsWhatItWasWhole draws the numbers of a stream, and restores each checkpoint to the bytes it would have had.
func TestAChangedCheckpointIsWhatItWasWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hold, s := checkpointAt(32)
		hold.Uncharged = rapid.Bool().Draw(t, "uncharged")
		draw := func() {
			number := rapid.OneOf(rapid.Int64Range(0, 10_000), rapid.Int64())
			hold.Amount = app.Amount(rapid.Int64Range(0, 1<<61).Draw(t, "held"))
			s.Cost = app.Amount(rapid.Int64Range(0, 1<<61).Draw(t, "cost"))
			s.Record.Duration = time.Duration(number.Draw(t, "duration"))
			s.Record.UpstreamCost = new(app.Amount(number.Draw(t, "upstream cost")))
			for m := range s.Record.Usage {
				s.Record.Usage[m] = number.Draw(t, "reading")
			}
		}
		draw()
		whole := s.Encode(hold, "one", time.Now())
		var base billing.Checkpoint
		base.Set(hold, &s)
		for range 3 {
			draw()
			change, same := base.AppendChange(nil, hold, &s)
			if !same {
				t.Fatal("only numbers changed")
			}
			if got, want := restore(t, whole, change), s.Encode(hold, "one", time.Now()); !bytes.Equal(got, want) {
				t.Fatalf("restored %s\nwhole    %s", got, want)
			}
		}
	})
}

// TestNoChangeOfACheckpointIsLost changes each member of a settlement and its hold, also those that later releases add: the
// checkpoint must then be written whole, unless the change restores it exactly.
func TestNoChangeOfACheckpointIsLost(t *testing.T) {
	t.Parallel()
	hold, s := checkpointAt(32)
	whole := s.Encode(hold, "one", time.Time{})
	var base billing.Checkpoint
	base.Set(hold, &s)
	small := 0
	for _, member := range members(reflect.TypeOf(s), nil) {
		_, s := checkpointAt(32)
		alter(t, reflect.ValueOf(&s).Elem(), member)
		change, same := base.AppendChange(nil, hold, &s)
		if !same {
			continue
		}
		if small++; len(change) > 12 {
			t.Errorf("member %v: %d bytes for one number", member, len(change))
		}
		if got, want := restore(t, whole, change), s.Encode(hold, "one", time.Time{}); !bytes.Equal(got, want) {
			t.Errorf("member %v: restored %s\nwhole    %s", member, got, want)
		}
	}
	if most := int(meter.Count) + 20; small < int(meter.Count) || small > most {
		t.Errorf("%d members are written as changes, %d at most were expected", small, most)
	}
	for _, member := range members(reflect.TypeOf(hold), nil) {
		other := hold
		alter(t, reflect.ValueOf(&other).Elem(), member)
		change, same := base.AppendChange(nil, other, &s)
		if same && !bytes.Equal(restore(t, whole, change), s.Encode(other, "one", time.Time{})) {
			t.Errorf("member %v of the hold is lost", member)
		}
	}
}

// members are the paths to all plain values of a type.
func members(of reflect.Type, path []int) (all [][]int) {
	switch {
	case of == reflect.TypeFor[time.Time]():
		return [][]int{path}
	case of.Kind() == reflect.Struct:
		for i := range of.NumField() {
			all = append(all, members(of.Field(i).Type, append(slices.Clip(path), i))...)
		}
	case of.Kind() == reflect.Array:
		for i := range of.Len() {
			all = append(all, members(of.Elem(), append(slices.Clip(path), i))...)
		}
	case of.Kind() == reflect.Slice:
		return members(of.Elem(), append(slices.Clip(path), 0))
	default:
		return [][]int{path}
	}
	return all
}

func alter(t *testing.T, v reflect.Value, path []int) {
	t.Helper()
	for _, i := range path {
		if v.Kind() == reflect.Struct {
			v = v.Field(i)
		} else {
			v = v.Index(i)
		}
	}
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = at.Add(time.Hour)
	case **app.Amount:
		*at = new(app.Amount(77))
	default:
		switch v.Kind() {
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Int, reflect.Int64:
			v.SetInt(v.Int() + 4000)
		default:
			t.Fatalf("a member of kind %s", v.Kind())
		}
	}
}

func TestABrokenChangeIsRefused(t *testing.T) {
	t.Parallel()
	hold, s := checkpointAt(32)
	for _, change := range [][]byte{{0x80}, {1}, {200, 1, 2}, {1, 0x80}, {1, 0xff, 0xff, 0xff, 0xff, 0x7f}} {
		read, err := billing.DecodeSettlement(s.Encode(hold, "one", time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		if err := read.Change(change); err == nil {
			t.Errorf("% x was applied", change)
		}
	}
}
