// Package api serves the routes under /v1: it authenticates callers, decodes a request into one call of a service, and encodes the
// answer or the error in the layout of the route. New makes the API from its services, and Mount adds its routes to a server.
package api

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"io"

	"umg/app"
	"umg/app/account"
	"umg/app/admission"
	"umg/app/apidocs"
	"umg/app/apikey"
	"umg/app/asset"
	"umg/app/audit"
	"umg/app/catalog"
	"umg/app/contentlog"
	"umg/app/gateway"
	"umg/app/idempotency"
	"umg/app/modelstatus"
	"umg/app/ratelimit"
	"umg/app/refusal"
	"umg/app/requestbody"
	"umg/app/video"
	"umg/app/webhook"
	"umg/billing"
	"umg/billing/stripe"
	"umg/billing/usage"
)

const (
	bodyBytesMaxDefault = 32 << 20
	writeStallMax       = 30 * time.Second
)

// Options are the services of the API. Keys, Catalog, Gateway and Now are required.
type Options struct {
	Keys    *apikey.Cache
	Catalog *catalog.Catalog
	Gateway *gateway.Gateway
	Now     app.Clock
	BaseURL string // Links in errors begin with BaseURL, a scheme and a host.

	Webhooks *webhook.Service // A nil Webhooks leaves the webhook routes out.
	Videos   *video.Service   // A nil Videos leaves the video routes out.
	Accounts *account.Service // A nil Accounts leaves the routes about keys, members and the account out.
	APIKeys  *apikey.Service  // It is nil exactly when Accounts is.
	LeakKeys LeakKeys         // LeakKeys are the keys of partners who report leaked secrets. Without it every report is refused.
	Assets   *asset.Service   // A nil Assets leaves the asset routes out.
	Payments *stripe.Service  // A nil Payments refuses top-ups and leaves the webhook of Stripe out.
	Reports  *usage.Reports   // It is nil exactly when Ledger is.
	Ledger   *billing.Ledger  // A nil Ledger leaves the routes about usage and credit out.
	// Documents are the documents about models. Nil means documents without a base URL and without examples of errors.
	Documents *apidocs.Documents
	Audit     *audit.Log          // A nil Audit leaves the route about the audit log out.
	Content   *contentlog.Service // A nil Content means that requests and responses are not stored.
	// Refusals records refused requests. It is nil where they are not recorded.
	Refusals *refusal.Log
	// Idempotency and IDs are what creating videos and assets, and buying credit, once takes.
	Idempotency *idempotency.Service
	IDs         app.IDs

	// BodyBytesMax bounds one JSON body. Zero means 32 MiB.
	BodyBytesMax int64
	// Status judges models. Without it their state is that of the catalog alone.
	Status *modelstatus.Service
	Gate   *admission.Controller // A nil Gate means one with the default options.
}

// API serves the routes under /v1 and their other spellings.
type API struct {
	o       Options
	now     app.Clock
	waiting atomic.Int64 // Waiting counts requests for a usage record that is not written yet.
	delayed atomic.Int64 // Delayed counts refused calls that wait for their answer.
	bodies  *requestbody.Pool

	paths      map[string]bool   // Paths holds the paths of all routes.
	operations map[string]string // Operations maps what an alias may name to the path of its route.
	// textRoutes are the routes of text calls by path.
	textRoutes map[string]*Route

	modelLists atomic.Pointer[[]*compressedBody]
	statuses   atomic.Pointer[statusCache]
}

// New returns the API. It panics when a required option is missing.
func New(o Options) *API {
	app.RequireOptions("api.New", map[string]bool{
		"Options.Keys": o.Keys != nil, "Options.Catalog": o.Catalog != nil, "Options.Gateway": o.Gateway != nil, "Options.Now": o.Now != nil,
	})
	o.BaseURL = strings.TrimSuffix(o.BaseURL, "/")
	if o.Documents == nil {
		o.Documents = apidocs.New(apidocs.Options{Now: o.Now})
	}
	if o.Status == nil {
		o.Status = modelstatus.New(modelstatus.Options{Now: o.Now})
	}
	if o.BodyBytesMax <= 0 {
		o.BodyBytesMax = bodyBytesMaxDefault
	}
	if o.Gate == nil {
		o.Gate = admission.New(admission.Options{})
	}
	a := &API{o: o, now: o.Now, bodies: requestbody.NewPool(), paths: map[string]bool{}, operations: map[string]string{}}
	a.textRoutes = textRoutes()
	for _, r := range Routes() {
		a.paths[r.Path] = true
		if r.Operation != "" {
			a.operations[r.Operation] = r.Path
		}
	}
	return a
}

// InFlight is the number of requests being served now.
func (a *API) InFlight() int64 { return a.o.Gate.InFlight() }

// call is one request of a route, with what is known about its caller.
type call struct {
	exchange

	route     Route
	key       apikey.Key
	log       *RequestLog
	mediaType string // An empty mediaType means JSON.
	place     *admission.Place
	admission *gateway.Admission // Admission is nil until the gateway admits the request, and always for open routes.
	bodyBytes int64              // BodyBytes counts the bytes of the body that were read.
	// bounded means that the time of a body that is not read was bounded.
	bounded bool

	// What follows is memory of the parts of a call, which would else be allocated one by one.
	held     admission.Place
	admitted gateway.Admission
	paced    requestbody.PacedReader
	body     requestbody.Body
	headers  headerValues
	api      *API
	writer   responseWriter
	once     textOnce
}

// handle serves one request: it takes a place of this replica, checks the key and the limits, and runs the route. Reads, and reports of
// partners, get a place before other requests.
func (a *API) handle(r Route, e exchange, l *RequestLog) error {
	return a.run(&call{exchange: e, route: r, log: l})
}

// Serve serves the request.
func (t *TextCall) Serve() error {
	if t.api.allowCrossOrigin(&t.exchange) {
		return nil
	}
	return t.api.run(&t.call)
}

// run serves the request of a call.
func (a *API) run(x *call) error {
	r, e, l := &x.route, x.exchange, x.log
	x.api = a
	critical := r.Open || r.Method == http.MethodGet
	l.format, l.Style = r.Family, string(r.Style)
	a.setCommonHeaders(x)
	var err error
	x.held, err = a.o.Gate.Enter(critical)
	x.place = &x.held
	place := x.place
	defer place.Leave()
	if err != nil {
		return a.rejectOverload(x, err)
	}
	if !r.Open {
		if err := a.authenticate(x); err != nil {
			return a.writeError(e, l, err)
		}
		if err := place.Admit(x.key.AccountID, x.key.Paid, critical); err != nil {
			return a.rejectOverload(x, err)
		}
		if err := x.key.Permit(r.Right); err != nil {
			return a.writeError(e, l, err)
		}
		if err := a.admit(x); err != nil {
			place.Leave()
			a.delayRefusal(x)
			return a.refuseUnread(x, err)
		}
		defer func() { x.admission.Release(x.bodyBytes) }()
	}
	err = x.checkQuery()
	if err == nil {
		err = r.serve(a, x)
	}
	if err != nil {
		return a.writeError(e, l, err)
	}
	return nil
}

// rejectOverload answers a call that gets no place.
func (a *API) rejectOverload(x *call, err error) error {
	x.Header()["X-Should-Retry"] = []string{"true"}
	a.endBody(x)
	return a.writeError(x.exchange, x.log, err)
}

// setCommonHeaders sets what every answer carries.
func (a *API) setCommonHeaders(x *call) {
	h := x.Header()
	id := x.headers.one(x.log.RequestID)
	h["X-Request-Id"] = id
	h["Request-Id"] = id
	if x.route.Style != "" {
		h["X-Generation-Id"] = id
	}
	h["Cache-Control"] = noStore
}

// keyLimits are what the key may do in addition to what its account may.
func (x *call) keyLimits() ratelimit.Key {
	k := x.key
	return ratelimit.Key{ID: k.ID, Concurrency: k.Concurrency, RequestsPerMinute: k.RequestsPerMinute, TokensPerMinute: k.TokensPerMinute}
}

// principal is the caller in the words of the services.
func (x *call) principal() app.Principal {
	p := x.key.Principal()
	p.From = app.Origin{IP: x.ClientIP(), Agent: x.Request().UserAgent(), RequestID: x.log.RequestID}
	return p
}

const (
	skippedBytesMax = 64 << 10             // So many bytes of a refused call's body are read and dropped.
	skipMax         = 2 * time.Millisecond // The server waits so long for them to arrive.
	streamPeekMax   = 250 * time.Millisecond
	delayedMax      = 1024 // So many refused calls may wait for their delayed answer at once.
)

// work is what the request wants.
func (x *call) work() gateway.Work {
	w := x.route.work
	switch {
	case x.route.Method == http.MethodGet:
		return gateway.ReadWork
	case w == gateway.TextWork || w == gateway.VideoWork:
		if dry, err := x.dryRun(); dry || err != nil {
			return gateway.CheckWork
		}
	}
	return w
}

// admit lets the request in before its body is read. What it took is given back when the request ends.
func (a *API) admit(x *call) error {
	w := x.work()
	if x.key.Frozen && (w == gateway.TextWork || w == gateway.VideoWork) {
		return billing.Frozen()
	}
	admitted, window, err := a.o.Gateway.Admit(x.Request().Context(), gateway.AdmissionRequest{
		ID: x.log.RequestID, Work: w, Principal: x.principal(), Key: x.keyLimits(), LimitFactor: x.key.LimitFactor,
		BodyBytes: x.Request().ContentLength, Space: &x.admitted,
	})
	if err != nil {
		gateway.SetLimitHeaders(x.Header(), window, ratelimit.Window{})
		return err
	}
	x.admission = admitted
	return nil
}

// slot is what the request took in the limits of calls; nil for a request that is no call.
func (x *call) slot() *ratelimit.Slot {
	if x.admission == nil {
		return nil
	}
	return x.admission.Slot
}

// delayRefusal waits before the answer to a refused request where the account has had many refusals already. It holds no place
// then.
func (a *API) delayRefusal(x *call) {
	delay := a.o.Gateway.RefusalDelay(x.key.AccountID)
	if delay == 0 {
		return
	}
	defer a.delayed.Add(-1)
	if a.delayed.Add(1) > delayedMax {
		return
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-x.Request().Context().Done():
	}
}

// refuseUnread answers a request that was refused before its body was read. On the chat route a key may want its errors in the form
// of the answer that it waits for, which is in the body. A small body is read for that, and others are answered with the
// true status, which every client understands.
func (a *API) refuseUnread(x *call, err error) error {
	r := x.Request()
	switch {
	case r.ContentLength == 0:
	case x.route.Family == ChatFamily && a.documented(x.exchange, x.log) && r.ContentLength > 0 && r.ContentLength <= skippedBytesMax:
		small, complete := a.peekBody(x)
		x.log.unread = !complete
		x.log.streams = complete && asksForStream(small)
	default:
		x.log.unread = true
		a.endBody(x)
	}
	return a.writeError(x.exchange, x.log, err)
}

// peekBody reads a small body, if it comes at once. Otherwise its connection ends with the answer.
func (a *API) peekBody(x *call) (small []byte, complete bool) {
	r := x.Request()
	x.bounded = true
	controller := http.NewResponseController(x.Connection())
	_ = controller.SetReadDeadline(a.now().Add(streamPeekMax))
	small, err := io.ReadAll(io.LimitReader(r.Body, skippedBytesMax))
	if err != nil {
		x.Header()["Connection"] = []string{"close"}
		return nil, false
	}
	_ = controller.SetReadDeadline(time.Time{})
	return small, true
}

// endBody ends the wait for the body of a refused request. It skips a small one that is there already, so that the connection can
// be used again; any other connection ends with the answer.
func (a *API) endBody(x *call) {
	r := x.Request()
	if r.ContentLength == 0 || r.ProtoMajor != 1 {
		return
	}
	x.bounded = true
	until := a.now()
	if r.ContentLength > 0 && r.ContentLength <= skippedBytesMax && x.bodyBytes == 0 {
		until = until.Add(skipMax)
	} else {
		x.Header()["Connection"] = []string{"close"}
	}
	_ = http.NewResponseController(x.Connection()).SetReadDeadline(until)
}

const dryRunHeader = "X-Dry-Run"

// dryRun reports whether only the price is asked for.
func (x *call) dryRun() (bool, error) {
	switch x.Request().Header.Get(dryRunHeader) {
	case "":
		return false, nil
	case "1", "true":
		return true, nil
	}
	return false, app.Errorf(app.Invalid, "invalid_value", "X-Dry-Run must be 1, or absent.").At(dryRunHeader)
}
