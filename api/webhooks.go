package api

import (
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/webhook"
)

const yearMax = 9999

// webhookRoutes are an extension: the management of endpoints in the words of a widespread SDK, and the deliveries.
func webhookRoutes() []Route {
	const (
		all      = "/v1/webhook_endpoints"
		one      = all + "/:id"
		delivery = one + "/deliveries/:delivery"
	)
	g := group{app.UseWebhooks, func(o *Options) bool { return o.Webhooks != nil }}
	return []Route{
		g.get(all, (*API).listEndpoints),
		g.post(all, (*API).createEndpoint),
		g.get(one, (*API).getEndpoint),
		g.post(one, (*API).updateEndpoint),
		g.delete(one, (*API).deleteEndpoint),
		g.post(one+"/rotate_secret", (*API).rotateSecret),
		g.post(one+"/test", (*API).testEndpoint),
		g.post(one+"/recover", (*API).recoverEvents),
		g.get(one+"/deliveries", (*API).listDeliveries),
		g.get(delivery, (*API).getDelivery),
		g.post(delivery+"/resend", (*API).resendDelivery),
		g.get("/v1/webhook_event_types", (*API).listEventTypes),
		g.get("/v1/webhook_events", (*API).listEvents),
	}
}

// endpointJSON is an endpoint as clients see it. The members after url are an extension.
type endpointJSON struct {
	ID             string         `json:"id"`
	Object         string         `json:"object"`
	CreatedAt      int64          `json:"created_at"`
	UpdatedAt      int64          `json:"updated_at"`
	Name           string         `json:"name"`
	URL            string         `json:"url"`
	EventTypes     []string       `json:"event_types"`
	Secret         string         `json:"signing_secret,omitempty"`
	SecretHint     string         `json:"signing_secret_hint"`
	PreviousUntil  *int64         `json:"previous_secret_valid_until"`
	Status         webhook.Status `json:"status"`
	DisabledReason *string        `json:"disabled_reason"`
	DisabledAt     *int64         `json:"disabled_at"`
	FailingSince   *int64         `json:"failing_since"`
}

func endpointBody(e webhook.Endpoint) endpointJSON {
	return endpointJSON{
		ID: e.ID, Object: "webhook_endpoint", CreatedAt: e.CreatedAt.Unix(), UpdatedAt: e.UpdatedAt.Unix(), Name: e.Name, URL: e.URL,
		EventTypes: e.EventTypes, SecretHint: e.SecretHint, PreviousUntil: seconds(e.PreviousUntil), Status: e.Status,
		DisabledReason: orNull(e.DisabledReason), DisabledAt: seconds(e.DisabledAt), FailingSince: seconds(e.FailingSince),
	}
}

// endpointWithSecret shows the signing secret, which is there once, when it was just made.
func endpointWithSecret(secret string) func(webhook.Endpoint) endpointJSON {
	return func(e webhook.Endpoint) endpointJSON {
		body := endpointBody(e)
		body.Secret = secret
		return body
	}
}

func (a *API) listEndpoints(x *call) error {
	limit, err := x.limit()
	if err != nil {
		return err
	}
	page, err := a.o.Webhooks.List(x.Request().Context(), x.principal(), x.QueryParam("after"), limit)
	if err != nil {
		return err
	}
	return a.object(x, listBody(page.Endpoints, page.More, func(e webhook.Endpoint) string { return e.ID }, endpointBody))
}

func (a *API) createEndpoint(x *call) error {
	var spec webhook.EndpointSpec
	if _, err := a.readFields(x, field{"name", "a string", &spec.Name}, field{"url", "a string", &spec.URL},
		field{"event_types", "an array of strings", &spec.EventTypes}); err != nil {
		return err
	}
	e, secret, err := a.o.Webhooks.Create(x.Request().Context(), x.principal(), spec)
	return reply(a, x, e, err, endpointWithSecret(secret))
}

func (a *API) getEndpoint(x *call) error {
	e, err := a.o.Webhooks.Get(x.Request().Context(), x.principal(), x.Param("id"))
	return reply(a, x, e, err, endpointBody)
}

func (a *API) updateEndpoint(x *call) error {
	var change webhook.EndpointChange
	if _, err := a.readFields(x, field{"name", "a string", &change.Name}, field{"url", "a string", &change.URL},
		field{"event_types", "an array of strings", &change.EventTypes}, field{"status", "a string", &change.Status}); err != nil {
		return err
	}
	e, err := a.o.Webhooks.Update(x.Request().Context(), x.principal(), x.Param("id"), change)
	return reply(a, x, e, err, endpointBody)
}

func (a *API) deleteEndpoint(x *call) error {
	id := x.Param("id")
	if err := a.o.Webhooks.Delete(x.Request().Context(), x.principal(), id); err != nil {
		return err
	}
	return a.object(x, deletedJSON{id, "webhook_endpoint.deleted", true})
}

func (a *API) rotateSecret(x *call) error {
	var keep bool
	if _, err := a.readFields(x, field{"keep_old_secret_active_for_24_hours", "true or false", &keep}); err != nil {
		return err
	}
	e, secret, err := a.o.Webhooks.Rotate(x.Request().Context(), x.principal(), x.Param("id"), keep)
	return reply(a, x, e, err, endpointWithSecret(secret))
}

// exchangeJSON is what went over the wire, in a test and in the log of a delivery.
type exchangeJSON struct {
	StatusCode      *int             `json:"status_code"`
	StartedAt       int64            `json:"started_at"`
	DurationMS      int64            `json:"duration_ms"`
	URL             string           `json:"url"`
	RequestHeaders  []webhook.Header `json:"request_headers"`
	RequestBody     string           `json:"request_body"`
	ResponseHeaders []webhook.Header `json:"response_headers"`
	ResponseBody    string           `json:"response_body"` // Invalid UTF-8 in ResponseBody is replaced.
	Error           *string          `json:"error"`
}

func exchangeBody(e webhook.Exchange) exchangeJSON {
	return exchangeJSON{
		StatusCode: orNull(e.Status), StartedAt: e.StartedAt.Unix(), DurationMS: e.Duration.Milliseconds(), URL: e.URL,
		RequestHeaders: append([]webhook.Header{}, e.RequestHeaders...), RequestBody: string(e.RequestBody),
		ResponseHeaders: append([]webhook.Header{}, e.ResponseHeaders...), ResponseBody: string(e.ResponseBody), Error: orNull(e.Error),
	}
}

// testEndpoint sends a test event and answers with the response of the receiver. Clients read every 2xx answer of this route as a
// response of the receiver, so a receiver that did not respond is an error, which is not worth a retry.
func (a *API) testEndpoint(x *call) error {
	var eventType string
	if _, err := a.readFields(x, field{"event_type", "a string", &eventType}); err != nil {
		return err
	}
	id := x.Param("id")
	e, err := a.o.Webhooks.Test(x.Request().Context(), x.principal(), id, eventType)
	if err != nil {
		return err
	}
	if e.Status == 0 {
		return app.Errorf(app.Upstream, "webhook_endpoint_unreachable",
			"The test event was not answered: %s. Make sure that the address of the endpoint is public and answers.",
			strings.TrimSuffix(e.Error, ".")).Final()
	}
	return a.object(x, struct {
		Object     string `json:"object"`
		EndpointID string `json:"webhook_endpoint_id"`
		EventType  string `json:"event_type"`
		Success    bool   `json:"success"`
		exchangeJSON
	}{"webhook_endpoint.test", id, eventType, true, exchangeBody(e)})
}

func (a *API) recoverEvents(x *call) error {
	var since *int64
	if _, err := a.readFields(x, field{"since", "a time in whole seconds since 1970", &since}); err != nil {
		return err
	}
	var from time.Time
	if since != nil {
		if from = time.Unix(*since, 0); *since < 0 || from.Year() > yearMax {
			return wrongField("since", "a time in whole seconds since 1970")
		}
	}
	id := x.Param("id")
	r, err := a.o.Webhooks.Recover(x.Request().Context(), x.principal(), id, from)
	if err != nil {
		return err
	}
	return a.object(x, struct {
		Object     string `json:"object"`
		EndpointID string `json:"webhook_endpoint_id"`
		Requeued   int    `json:"requeued"`
		Created    int    `json:"created"`
		HasMore    bool   `json:"has_more"`
	}{"webhook_endpoint.recovery", id, r.Requeued, r.Created, r.More})
}

// deliveryJSON is one event on its way to one endpoint.
type deliveryJSON struct {
	ID         string        `json:"id"`
	Object     string        `json:"object"`
	EndpointID string        `json:"webhook_endpoint_id"`
	EventID    string        `json:"event_id"`
	EventType  string        `json:"event_type"`
	ObjectID   string        `json:"object_id"`
	State      webhook.State `json:"state"`
	Attempts   int           `json:"attempts"`
	NextAt     *int64        `json:"next_attempt_at"`
	LastStatus *int          `json:"last_status_code"`
	LastError  *string       `json:"last_error"`
	CreatedAt  int64         `json:"created_at"`
	UpdatedAt  int64         `json:"updated_at"`
}

func deliveryBody(d webhook.Delivery) deliveryJSON {
	return deliveryJSON{
		ID: d.ID, Object: "webhook_delivery", EndpointID: d.EndpointID, EventID: d.EventID, EventType: d.EventType, ObjectID: d.ObjectID,
		State: d.State, Attempts: d.Attempts, NextAt: seconds(d.NextAt), LastStatus: orNull(d.LastStatus), LastError: orNull(d.LastError),
		CreatedAt: d.CreatedAt.Unix(), UpdatedAt: d.UpdatedAt.Unix(),
	}
}

func (a *API) listDeliveries(x *call) error {
	limit, err := x.limit()
	if err != nil {
		return err
	}
	ctx, q := x.Request().Context(), x.Request().URL.Query()
	e, err := a.o.Webhooks.Get(ctx, x.principal(), x.Param("id"))
	if err != nil {
		return err
	}
	page, err := a.o.Webhooks.Deliveries(ctx, x.principal(), webhook.DeliveryQuery{
		EndpointID: e.ID, State: webhook.State(q.Get("state")), EventType: q.Get("event_type"), ObjectID: q.Get("object_id"),
		After: q.Get("after"), Limit: limit,
	})
	if err != nil {
		return err
	}
	return a.object(x, listBody(page.Deliveries, page.More, func(d webhook.Delivery) string { return d.ID }, deliveryBody))
}

// delivery is the one that the path names, when it goes to the endpoint of the path.
func (a *API) delivery(x *call) (webhook.DeliveryDetail, error) {
	ctx := x.Request().Context()
	e, err := a.o.Webhooks.Get(ctx, x.principal(), x.Param("id"))
	if err != nil {
		return webhook.DeliveryDetail{}, err
	}
	d, err := a.o.Webhooks.Delivery(ctx, x.principal(), x.Param("delivery"))
	if err == nil && d.EndpointID != e.ID {
		return webhook.DeliveryDetail{}, app.Errorf(app.NotFound, "webhook_delivery_not_found",
			"There is no such delivery. Deliveries are kept for 30 days.")
	}
	return d, err
}

func (a *API) getDelivery(x *call) error {
	d, err := a.delivery(x)
	if err != nil {
		return err
	}
	type attemptJSON struct {
		Number int `json:"number"`
		exchangeJSON
	}
	log := make([]attemptJSON, len(d.Log))
	for i, l := range d.Log {
		log[i] = attemptJSON{l.Number, exchangeBody(l.Exchange)}
	}
	return a.object(x, struct {
		deliveryJSON
		Body string        `json:"body"`
		Log  []attemptJSON `json:"log"`
	}{deliveryBody(d.Delivery), string(d.Body), log})
}

func (a *API) resendDelivery(x *call) error {
	if _, err := a.strict(x); err != nil {
		return err
	}
	found, err := a.delivery(x)
	if err != nil {
		return err
	}
	d, err := a.o.Webhooks.Resend(x.Request().Context(), x.principal(), found.ID)
	return reply(a, x, d, err, deliveryBody)
}

func (a *API) listEventTypes(x *call) error {
	return a.object(x, struct {
		Object string   `json:"object"`
		Data   []string `json:"data"`
	}{"list", webhook.Types()})
}

// eventJSON is an event of the account. Its body is the text that endpoints are sent and that is signed.
type eventJSON struct {
	ID        string `json:"id"`
	Object    string `json:"object"`
	Type      string `json:"type"`
	ObjectID  string `json:"object_id"`
	CreatedAt int64  `json:"created_at"`
	Body      string `json:"body"`
}

// listEvents lists what happened, the oldest first, so that a program without an address of its own can follow it.
func (a *API) listEvents(x *call) error {
	limit, err := x.limit()
	if err != nil {
		return err
	}
	q := webhook.EventQuery{Type: x.QueryParam("type"), After: x.QueryParam("after"), Limit: limit}
	if text := x.QueryParam("since"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if q.Since = time.Unix(n, 0).UTC(); err != nil || n < 0 || q.Since.Year() > yearMax {
			return wrongField("since", "a time in whole seconds since 1970")
		}
	}
	page, err := a.o.Webhooks.Events(x.Request().Context(), x.principal(), q)
	if err != nil {
		return err
	}
	return a.object(x, listBody(page.Events, page.More, func(e webhook.Recorded) string { return e.ID }, func(e webhook.Recorded) eventJSON {
		return eventJSON{e.ID, "webhook_event", e.Type, e.ObjectID, e.CreatedAt.Unix(), string(e.Body)}
	}))
}
