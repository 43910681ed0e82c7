package api

import (
	"encoding/json"
	"maps"
	"mime"
	"net/http"
	"strings"
	"time"

	"strconv"

	"umg/app"
	"umg/app/catalog"
	"umg/app/gateway"
	"umg/app/requestbody"
	"umg/billing"
)

const (
	writeDeadlineStep = 5 * time.Second // Deadlines are renewed no more often than this.
)

// generate serves one text call: it reads the body and passes it to the gateway, which writes the answer.
func (a *API) generate(x *call) error {
	body, err := a.readBody(x)
	if err != nil {
		return err
	}
	recorder := a.contentRecorder(x)
	defer recorder.Abandon()
	defer body.Release()
	if x.key.Frozen {
		x.log.streams = asksForStream(body.Bytes())
		return billing.Frozen()
	}
	request, err := x.withPathModel(body.Bytes())
	if err != nil {
		return err
	}
	if dry, err := x.dryRun(); dry || err != nil {
		if err != nil {
			return err
		}
		return a.quoteText(x, request)
	}
	once, err := a.claimText(x, request)
	if err != nil || once.replayed {
		return err
	}
	defer once.end()
	out := a.newStreamWriter(x)
	recorder.Hear(request)
	before := a.now().Sub(x.log.Started) - x.log.upload
	c := x.textCall(request)
	c.BodyMemory, c.Report = body, &x.log.Result
	c.Idempotent, c.AuthDuration, c.UploadDuration = once.response, before, x.log.upload
	report, err := a.o.Gateway.Generate(x.Request().Context(), c, recorder.Over(out))
	once.recordResult(report, err)
	x.recordContent(recorder, report, err)
	if array, ok := out.(*arrayWriter); ok {
		array.end()
	}
	_, known := a.o.Catalog.Snapshot().Model(report.Model)
	x.log.recordResult(report, known)
	x.log.Overhead = before + report.GatewayDuration
	if err != nil {
		gateway.SetLimitHeaders(x.Header(), report.Left.Requests, report.Left.Tokens)
		x.log.streams = report.Streamed || report.Model == "" && asksForStream(body.Bytes())
	}
	return err
}

// textQuote is the answer to a dry run: what the call may cost, with no provider asked and nothing spent. It is the same in
// every style.
type textQuote struct {
	Object          string      `json:"object"`
	Model           string      `json:"model"`
	InputTokens     inputTokens `json:"input_tokens"`
	MaxOutputTokens int64       `json:"max_output_tokens"` // MaxOutputTokens applies to each choice.
	Choices         int64       `json:"choices"`
	Currency        string      `json:"currency"`
	CostMin         app.Amount  `json:"cost_min"` // CostMin is for the input alone.
	CostMax         app.Amount  `json:"cost_max"`
	Reserve         app.Amount  `json:"reserve"`     // A stream without a maximum reserves more later.
	ReserveMin      app.Amount  `json:"reserve_min"` // With less credit the call is refused.
	Available       app.Amount  `json:"available"`
	Funded          bool        `json:"funded"`
	RateCard        string      `json:"rate_card"`
	// Tools are the fees of tools that the provider may run; cost_max includes them.
	Tools []quotedFee `json:"tools,omitempty"`
}

type inputTokens struct {
	Estimate int64 `json:"estimate"`
	Max      int64 `json:"max"`
	// Tools is the part of max that tools of the provider may read.
	Tools int64 `json:"tools,omitzero"`
}

// quotedFee is a fee of a tool that the provider may run.
type quotedFee struct {
	Meter   string     `json:"meter"`
	Price   app.Amount `json:"price"`
	Per     int64      `json:"per"`
	Max     int64      `json:"max"`
	CostMax app.Amount `json:"cost_max"`
}

func quotedFees(fees []gateway.QuoteFee) (list []quotedFee) {
	for _, fee := range fees {
		price := catalog.PriceOf(fee.Price)
		if one := app.Amount(price.Per); price.Amount%one == 0 {
			price = catalog.Price{Amount: price.Amount / one, Per: 1}
		}
		list = append(list, quotedFee{
			Meter: fee.Meter.String(), Price: price.Amount, Per: price.Per, Max: fee.Count, CostMax: fee.Most,
		})
	}
	return list
}

func (a *API) quoteText(x *call, body []byte) error {
	q, err := a.o.Gateway.Quote(x.Request().Context(), x.textCall(body))
	if err != nil {
		return err
	}
	answer, err := json.Marshal(textQuote{
		Object: "text.quote", Model: q.Model, InputTokens: inputTokens{Estimate: q.InputEstimate, Max: q.InputMost, Tools: q.ToolInputMost},
		MaxOutputTokens: q.OutputMost, Choices: q.Choices, Currency: "USD", CostMin: q.Least, CostMax: q.Most, Reserve: q.Reserve,
		ReserveMin: q.LeastReserve, Available: q.Available, Funded: q.Funded, RateCard: q.RateCardID,
		Tools: quotedFees(q.Fees),
	})
	if err != nil {
		return err
	}
	x.log.Model, x.log.Result.Outcome = q.Model, "quoted"
	x.setDroppedHeader(q.Dropped)
	return a.send(x, answer)
}

// setDroppedHeader lists what of a request does not go upstream.
func (x *call) setDroppedHeader(list string) {
	if list != "" {
		x.Header().Set("X-Gateway-Dropped", list)
	}
}

// newStreamWriter is the client's end of a call.
func (a *API) newStreamWriter(x *call) gateway.StreamWriter {
	s := &x.writer
	*s = responseWriter{x: x, api: a, now: a.now, response: x.Response(), connection: x.Connection(), shared: x.Request().ProtoMajor > 1}
	if x.log.alias.array {
		return &arrayWriter{StreamWriter: s}
	}
	return s
}

// readBody reads a body of JSON.
func (a *API) readBody(x *call) (*requestbody.Body, error) {
	if err := jsonBody(x.Request().Header); err != nil {
		return nil, err
	}
	return a.readAll(x, jsonTimeMax)
}

// jsonBody refuses bodies that are not plain JSON.
func jsonBody(h http.Header) error {
	types := h["Content-Type"]
	isJSON := len(types) == 1 && types[0] == jsonType
	if len(types) == 1 && !isJSON {
		kind, params, err := mime.ParseMediaType(types[0])
		charset, has := params["charset"]
		isJSON = err == nil && kind == jsonType && (!has || strings.EqualFold(charset, "utf-8"))
	}
	if !isJSON {
		return app.Errorf(app.MediaType, "unsupported_media_type",
			"The Content-Type must be application/json, in UTF-8; this request says %q.", strings.Join(types, ", "))
	}
	return plainBody(h)
}

// plainBody refuses bodies that are compressed.
func plainBody(h http.Header) error {
	for _, v := range h["Content-Encoding"] {
		if !strings.EqualFold(v, "identity") {
			return app.Errorf(app.MediaType, "unsupported_media_type",
				"The body has Content-Encoding %q; compressed requests are not accepted, send it as it is.", v)
		}
	}
	return nil
}

// responseWriter writes the gateway's answer to the client's socket.
type responseWriter struct {
	x          *call
	api        *API
	now        app.Clock
	response   http.ResponseWriter
	connection http.ResponseWriter
	shared     bool // Shared means that other streams use the connection.
	extended   time.Time
}

// Begin sends nothing yet: the status and headers leave with the first bytes.
func (s *responseWriter) Begin(status int, contentType string, extra http.Header) error {
	r := s.response
	h := r.Header()
	maps.Copy(h, extra)
	switch mediaType, _, _ := strings.Cut(contentType, ";"); {
	case mediaType == "text/event-stream":
		h["Cache-Control"], h["X-Accel-Buffering"], h["Content-Type"] = noTransform, notBuffered, eventStreamed
	case contentType == jsonType:
		h["Content-Type"] = jsonTyped
	default:
		h["Content-Type"] = []string{contentType}
	}
	s.api.setTiming(s.x, h)
	r.WriteHeader(status)
	return nil
}

// setTiming sets the headers about how long the answer took to begin, whose texts share their memory.
func (a *API) setTiming(x *call, h http.Header) {
	var short [80]byte
	said, took := x.log.appendServerTiming(short[:0], a.now())
	timing := len(said)
	text := string(strconv.AppendInt(said, took.Milliseconds(), 10))
	h["Server-Timing"] = x.headers.one(text[:timing])
	processing := x.headers.one(text[timing:])
	for _, name := range a.o.Catalog.Snapshot().Spellings(processingHeader) {
		h[name] = processing
	}
}

// Write hands bytes to the socket under a deadline of their own, so that a client that stops reading ends.
func (s *responseWriter) Write(p []byte) error {
	s.extend()
	_, err := s.response.Write(p)
	return err
}

// Flush pushes what was just written out to the client.
func (s *responseWriter) Flush() error {
	err := http.NewResponseController(s.connection).Flush()
	if s.shared { // On HTTP/2, a deadline that passes between two writes ends the stream.
		s.extended = time.Time{}
		_ = http.NewResponseController(s.connection).SetWriteDeadline(time.Time{})
	}
	return err
}

func (s *responseWriter) extend() {
	now := s.now()
	if s.x.log.FirstByte == 0 {
		s.x.log.FirstByte = now.Sub(s.x.log.Started)
	}
	if now.Sub(s.extended) >= writeDeadlineStep {
		s.extended = now
		_ = http.NewResponseController(s.connection).SetWriteDeadline(now.Add(writeStallMax))
	}
}

// extendWrite gives the next writes their time.
func extendWrite(w http.ResponseWriter, now time.Time) {
	_ = http.NewResponseController(w).SetWriteDeadline(now.Add(writeStallMax))
}
