package lease

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"umg/billing"
	"umg/billing/failpoint"
	"umg/billing/journal"
)

// markBase is a mark in the journal to which later marks of its call refer.
type markBase struct {
	at   journal.LSN
	mark billing.Checkpoint
}

// markBases has those of calls that have ended, because a base takes more than a kilobyte.
var markBases = sync.Pool{New: func() any { return new(markBase) }}

// Progress records what a call has delivered so far, as the settlement it would get if the process died now. It never waits.
// A mark that cannot be recorded costs only the platform.
func (m *Manager) Progress(h billing.Hold, s billing.Settlement) {
	m.calls.change(h.ID, func(c *call) {
		var err error
		if m.o.Journal == nil {
			_, err = m.settlements.mark(h.ID, s.Encode(h, m.o.ReplicaID, m.o.Now()))
		} else {
			err = m.mark(c, h, &s)
		}
		if err != nil {
			m.counters.marksMissed.Add(1)
		}
	})
	failpoint.At(failpoint.C4)
}

// mark writes a mark to the journal: as the change of an earlier mark when that is small, and otherwise whole. Most calls have
// one mark and few have many, so the second mark is the first one to which others refer.
func (m *Manager) mark(c *call, h billing.Hold, s *billing.Settlement) error {
	if c.base != nil {
		var buffer [2 * changeBytesMax]byte
		data := binary.AppendUvarint(buffer[:0], uint64(c.base.at))
		if data, ok := c.base.mark.AppendChange(data, h, s); ok && len(data) <= changeBytesMax {
			_, err := m.o.Journal.Append(kindChange, data)
			return err
		}
	}
	at, err := m.markWhole(h, s)
	switch {
	case err != nil:
		return err
	case c.first == 0:
		c.first = at
	default:
		if c.base == nil {
			c.base, _ = markBases.Get().(*markBase)
		}
		c.base.at = at
		c.base.mark.Set(h, s)
	}
	return nil
}

// recordBuffers are buffers for marks and settlements. The journal copies what it appends.
var recordBuffers = sync.Pool{New: func() any { return new([]byte) }}

func (m *Manager) markWhole(h billing.Hold, s *billing.Settlement) (journal.LSN, error) {
	buffer, _ := recordBuffers.Get().(*[]byte)
	defer recordBuffers.Put(buffer)
	*buffer = s.AppendEncoded((*buffer)[:0], h, m.o.ReplicaID, m.o.Now())
	return m.settlements.mark(h.ID, *buffer)
}

// openCalls are the calls of a journal that have marks and no settlement.
type openCalls struct {
	byID map[string]*openCall
	// ids are the ids of the calls by the position of the last mark that was written whole, which is how changes name them.
	ids map[journal.LSN]string
}

// openCall is the last mark of a call that was written whole, and the last change of it.
type openCall struct {
	at            journal.LSN
	whole, change []byte
}

func newOpenCalls() *openCalls {
	return &openCalls{byID: map[string]*openCall{}, ids: map[journal.LSN]string{}}
}

// mark notes a mark that was written whole.
func (o *openCalls) mark(id string, at journal.LSN, data []byte) {
	o.end(id)
	o.byID[id], o.ids[at] = &openCall{at: at, whole: slices.Clone(data)}, id
}

// change notes a later mark. One that refers to an unknown mark is of a call that has ended or that this process still runs.
func (o *openCalls) change(data []byte) error {
	at, length := binary.Uvarint(data)
	if length <= 0 {
		return fmt.Errorf("it refers to no mark")
	}
	if id, known := o.ids[journal.LSN(at)]; known {
		one := o.byID[id]
		one.change = append(one.change[:0], data[length:]...)
	}
	return nil
}

// end forgets a call that was settled.
func (o *openCalls) end(id string) {
	if one, known := o.byID[id]; known {
		delete(o.ids, one.at)
		delete(o.byID, id)
	}
}

// settlements returns the last mark of each call, by its id.
func (o *openCalls) settlements() (map[string][]byte, error) {
	all := make(map[string][]byte, len(o.byID))
	for id, one := range o.byID {
		all[id] = one.whole
		if one.change == nil {
			continue
		}
		recorded, err := billing.DecodeSettlement(one.whole)
		if err == nil {
			err = recorded.Change(one.change)
		}
		if err != nil {
			return nil, fmt.Errorf("the last mark of call %s after record %d of the journal: %w", id, one.at, err)
		}
		all[id] = recorded.Settlement.Encode(recorded.Hold, recorded.ReplicaID, time.Time{})
	}
	return all, nil
}
