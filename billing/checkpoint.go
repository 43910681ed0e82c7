package billing

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"umg/app"
	"umg/app/meter"
)

// These numbers of a checkpoint change while a stream runs. The value is the position in a change. The meters follow.
const (
	numberHeld = iota
	numberCost
	numberDuration
	numberUpstreamCost
	numberMeters
)

const numberCount = numberMeters + int(meter.Count)

// checkpointNumbers are the numbers of a checkpoint as Encode writes them.
type checkpointNumbers [numberCount]int64

func numbersOf(h *Hold, s *Settlement) (n checkpointNumbers) {
	if !h.Uncharged {
		n[numberHeld], n[numberCost] = max(int64(h.Amount), 0), max(int64(s.Cost), 0)
	}
	n[numberDuration] = count(s.Record.Duration.Microseconds())
	if c := s.Record.UpstreamCost; c != nil {
		n[numberUpstreamCost] = count(int64(*c))
	}
	for i, units := range s.Record.Usage {
		n[numberMeters+i] = count(units)
	}
	return n
}

// Checkpoint is the last checkpoint of a running call that was written whole. Later checkpoints of the call are written as
// their difference from it, which takes a few bytes.
type Checkpoint struct {
	hold    Hold
	numbers checkpointNumbers
	record  UsageRecord
}

// Set copies a checkpoint that Encode wrote.
func (c *Checkpoint) Set(h Hold, s *Settlement) {
	c.hold, c.numbers, c.record = h, numbersOf(&h, s), s.Record
	c.record.Trail.Attempts = slices.Clone(c.record.Trail.Attempts) // The call changes its attempts in place.
	c.record.ProviderCost = cloneAmount(c.record.ProviderCost)
}

func cloneAmount(a *app.Amount) *app.Amount {
	if a == nil {
		return nil
	}
	return new(*a)
}

// AppendChange appends the difference of a later checkpoint of the call: for each number that differs, its position and by
// how much. It returns false when anything but these numbers differs. The caller must then write the checkpoint whole.
func (c *Checkpoint) AppendChange(b []byte, h Hold, s *Settlement) ([]byte, bool) {
	amount := c.hold.Amount
	c.hold.Amount = h.Amount
	same := c.hold == h && c.record.sameCall(&s.Record)
	c.hold.Amount = amount
	if !same {
		return b, false
	}
	now := numbersOf(&h, s)
	for i := range now {
		if now[i] != c.numbers[i] {
			b = binary.AppendUvarint(b, uint64(i))
			b = binary.AppendVarint(b, now[i]-c.numbers[i])
		}
	}
	return b, true
}

// sameCall reports whether two records of a call differ at most in their numbers. It compares what Encode writes.
func (a *UsageRecord) sameCall(b *UsageRecord) bool {
	return a.sameRoute(b) && a.sameEnd(b) && a.Trail.same(&b.Trail) && sameAmount(a.ProviderCost, b.ProviderCost) &&
		(a.UpstreamCost == nil) == (b.UpstreamCost == nil) && a.CostCardID == b.CostCardID && a.Terms == b.Terms
}

func (a *UsageRecord) sameRoute(b *UsageRecord) bool {
	return a.KeyID == b.KeyID && a.Model == b.Model && a.Provider == b.Provider && a.UpstreamModel == b.UpstreamModel &&
		a.Style == b.Style && a.RateCardID == b.RateCardID && a.EndUser == b.EndUser && a.Attempts == b.Attempts &&
		a.Credential == b.Credential
}

func (a *UsageRecord) sameEnd(b *UsageRecord) bool {
	return a.FinishReason == b.FinishReason && a.ErrorCode == b.ErrorCode && a.Outcome == b.Outcome && a.Reason == b.Reason &&
		a.Flags == b.Flags && a.Streamed == b.Streamed && a.Estimated == b.Estimated && a.StartedAt.Equal(b.StartedAt) &&
		a.FirstByte == b.FirstByte
}

func (a *RequestTiming) same(b *RequestTiming) bool {
	return a.Door == b.Door && a.Body == b.Body && a.Checked == b.Checked && a.Admitted == b.Admitted && a.Funded == b.Funded &&
		slices.Equal(a.Attempts, b.Attempts)
}

func sameAmount(a, b *app.Amount) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

var errChange = errors.New("billing: the change of a checkpoint cannot be read")

// Change applies the difference of a later checkpoint, which AppendChange wrote, to the checkpoint that was written whole.
func (j *JournaledSettlement) Change(change []byte) error {
	s := &j.Settlement
	n := numbersOf(&j.Hold, s)
	for len(change) > 0 {
		i, length := binary.Uvarint(change)
		if length <= 0 || i >= uint64(numberCount) {
			return errChange
		}
		change = change[length:]
		by, length := binary.Varint(change)
		if length <= 0 {
			return errChange
		}
		change = change[length:]
		number := &n[i] //nolint:gosec // i was compared with the length above
		if *number += by; *number < 0 {
			return fmt.Errorf("%w: number %d is %d", errChange, i, *number)
		}
	}
	j.Hold.Amount, s.Cost = app.Amount(n[numberHeld]), app.Amount(n[numberCost])
	s.Record.Duration = time.Duration(n[numberDuration]) * time.Microsecond
	if s.Record.UpstreamCost != nil {
		s.Record.UpstreamCost = new(app.Amount(n[numberUpstreamCost]))
	}
	copy(s.Record.Usage[:], n[numberMeters:])
	return nil
}
