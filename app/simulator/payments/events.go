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

// origin is the request that caused an event. It is empty when none did.
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
	e := &event{
		ID: s.newID("evt_", 24), Object: "event", APIVersion: apiVersion, Created: s.o.Now().Unix(),
		Data: eventData{encode(o)}, Request: from, Type: kind,
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
			return page(c, "evt", func(e *event) bool {
				// Each of the wanted is a type, or a group such as "charge.*".
				wanted := kinds == nil || slices.ContainsFunc(kinds, func(one string) bool {
					group, grouped := strings.CutSuffix(one, "*")
					return one == e.Type || grouped && strings.HasPrefix(e.Type, group)
				})
				return wanted && (!f.has("delivery_success") || c.sim.hooks.done(e.ID) == delivered)
			})
		}},
	}
}
