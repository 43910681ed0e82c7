package api

import (
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/gateway"
	"umg/app/requestbody"
	"umg/billing"
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

// extendWrite gives the next writes their time.
func extendWrite(w http.ResponseWriter, now time.Time) {
	_ = http.NewResponseController(w).SetWriteDeadline(now.Add(writeStallMax))
}
