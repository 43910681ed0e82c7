package protocols

import (
	"reflect"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// responsesState is how far a responses stream has come.
type responsesState struct {
	number int64
	// order has the events that are not about an item.
	order []string
	// items are those added, each with the sum of its deltas.
	items []responsesItem
	done  []bool
	// parts has the sum of the deltas of each part.
	parts map[string]string
	// ids are the ids of the answer.
	ids   map[string]bool
	final *response
}

type responsesEvent struct {
	Type     string        `json:"type"`
	Number   *int64        `json:"sequence_number"`
	Response response      `json:"response"`
	Index    int           `json:"output_index"`
	Item     responsesItem `json:"item"`
	ItemID   string        `json:"item_id"`
	Delta    string        `json:"delta"`
	Text     string        `json:"text"`
	Refusal  string        `json:"refusal"`
	Argument string        `json:"arguments"`
	Part     responsesBit  `json:"part"`
}

func responsesStreamed(m *matrix, t *testing.T, body string) reply {
	t.Helper()
	s := responsesState{parts: map[string]string{}, ids: map[string]bool{}}
	for _, f := range framesOf(t, body, true) {
		m.schemas.fits(t, "open#/components/schemas/ResponseStreamEvent", f.data)
		e := harness.DecodeJSON[responsesEvent](t, f.data)
		if e.Type != f.event || e.Number == nil || *e.Number != s.number {
			t.Errorf("the event line says %q and the number should be %d: %s", f.event, s.number, f.data)
		}
		s.number++
		if s.final != nil {
			t.Errorf("an event behind the end: %s", f.data)
		}
		s.read(t, &e, f.data)
	}
	if len(s.ids) != 1 || len(s.order) != 3 || s.order[0] != "response.created" || s.order[1] != "response.in_progress" || s.final == nil {
		t.Fatalf("the events come as %v", s.order)
	}
	for i := range s.items {
		if !s.done[i] {
			t.Errorf("the item %d is never done", i)
		}
	}
	if !reflect.DeepEqual(s.items, s.final.Output) && len(s.items)+len(s.final.Output) > 0 {
		t.Errorf("the items are %+v, the final output %+v", s.items, s.final.Output)
	}
	return s.final.reply(t)
}

func (s *responsesState) read(t *testing.T, e *responsesEvent, data string) {
	t.Helper()
	switch e.Type {
	case "response.created", "response.in_progress", "response.completed", "response.incomplete":
		s.order = append(s.order, e.Type)
		isAnswer(t, e.Response.ID, "resp_", e.Response.Created)
		s.ids[e.Response.ID] = true
		if status, _ := strings.CutPrefix(e.Type, "response."); status != e.Response.Status && e.Type != "response.created" {
			t.Errorf("the status is %q: %s", e.Response.Status, data)
		}
		if len(s.order) == 3 {
			s.final = &e.Response
		}
		return
	case "response.output_item.added":
		if e.Index != len(s.items) || e.Item.ID == "" || len(s.items) > 0 && !s.done[len(s.items)-1] {
			t.Errorf("an item is added out of order: %s", data)
		}
		s.items = append(s.items, e.Item)
		s.done = append(s.done, false)
		return
	}
	if e.Index != len(s.items)-1 || s.done[e.Index] {
		t.Fatalf("an event of an item that is not open: %s", data)
	}
	item := &s.items[e.Index]
	if e.Type == "response.output_item.done" {
		if e.Item.ID != item.ID || e.Item.Name != item.Name || e.Item.CallID != item.CallID {
			t.Errorf("an item changes its name: %s", data)
		}
		if e.Item.Type == "function_call" && e.Item.Arguments != s.parts[item.ID] {
			t.Errorf("the deltas are %q: %s", s.parts[item.ID], data)
		}
		*item, s.done[e.Index] = e.Item, true
		return
	}
	if e.ItemID != item.ID {
		t.Errorf("item_id is not %q: %s", item.ID, data)
	}
	s.piece(t, e, data)
}

// piece reads an event of a part of an item: the deltas must add up to what is done.
func (s *responsesState) piece(t *testing.T, e *responsesEvent, data string) {
	t.Helper()
	said := s.parts[e.ItemID]
	switch {
	case strings.HasSuffix(e.Type, ".delta"):
		s.parts[e.ItemID] += e.Delta
	case strings.HasSuffix(e.Type, "part.added"):
		if e.Part.Text+e.Part.Refusal != "" {
			t.Errorf("a part is added with content: %s", data)
		}
	case strings.HasSuffix(e.Type, "part.done"):
		if e.Part.Text+e.Part.Refusal != said {
			t.Errorf("the deltas are %q: %s", said, data)
		}
	case strings.HasSuffix(e.Type, ".done"):
		if e.Text+e.Refusal+e.Argument != said {
			t.Errorf("the deltas are %q: %s", said, data)
		}
	default:
		t.Errorf("an unknown event: %s", data)
	}
}
