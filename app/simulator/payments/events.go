package payments

import (
	"encoding/json"
	"slices"
	"strings"
)

// event is something that happened, with the object as it was right then.
type event struct {
	ID              string    `json:"id"`
	Object          string    `json:"object"`
	APIVersion      string    `json:"api_version"`
	Created         int64     `json:"created"`
	Data            eventData `json:"data"`
	Livemode        bool      `json:"livemode"`
	PendingWebhooks int       `json:"pending_webhooks"`
	Request         origin    `json:"request"`
	Type            string    `json:"type"`
}

type eventData struct {
	Object json.RawMessage `json:"object"`
}

// origin is the request that caused an event; empty when none did.
type origin struct {
	ID  *string `json:"id"`
	Key *string `json:"idempotency_key"`
}

func (e *event) facts() (string, int64) { return e.ID, e.Created }

func (c *call) origin() origin { return origin{maybe(c.id), maybe(c.key)} }

// emit records an event that this call caused.
func (c *call) emit(kind string, o object) { c.sim.emit(kind, o, c.origin()) }

// emit records an event and sends it.
func (s *Simulator) emit(kind string, o object, from origin) {
	raw, err := json.Marshal(o)
	if err != nil {
		panic("payments: write an event: " + err.Error())
	}
	e := &event{
		ID: s.newID("evt_", 24), Object: "event", APIVersion: apiVersion, Created: s.o.Now().Unix(),
		Data: eventData{raw}, Request: from, Type: kind,
	}
	id, _ := o.facts()
	s.store.put(e)
	s.hooks.add(e, id)
}

func eventEndpoints() []endpoint {
	accepts := pageParams("type", "types[]", "delivery_success")
	return []endpoint{
		getter[*event]("/v1/events", "event"),
		{route: "GET /v1/events", accepts: accepts, serve: func(c *call) (object, *failure) {
			f := c.form
			kinds := f.list("types")
			if f.has("type") && kinds != nil {
				f.fail(invalid("", "", "You may only specify one of these parameters: type, types."))
			}
			if f.has("type") {
				kinds = []string{f.text("type")}
			}
			delivered := f.flag("delivery_success")
			return orFailure(c.page("evt", func(o object) bool {
				e, ok := o.(*event)
				return ok && matches(e.Type, kinds) && (!f.has("delivery_success") || c.sim.hooks.done(e.ID) == delivered)
			}))
		}},
	}
}

// matches reports whether a type is one of the wanted, each a type or a group such as "charge.*".
func matches(kind string, wanted []string) bool {
	return wanted == nil || slices.ContainsFunc(wanted, func(one string) bool {
		group, grouped := strings.CutSuffix(one, "*")
		return one == kind || grouped && strings.HasPrefix(kind, group)
	})
}
