package playground

import (
	"errors"
	"net/http"

	"umg/app"
	"umg/app/console/page"
	"umg/app/dialect"
	"umg/app/docs"
	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/meter"
	"umg/billing"
	"umg/views"
	"umg/views/codesample"
	"umg/views/format"
	playpages "umg/views/playground"
)

const (
	// Path is the path of the playground.
	Path           = page.ConsolePath + "/playground"
	recentCallsMax = 50 // The record of a stopped answer is searched among this many records.

	requestShownMax = 256 << 10 // A request with more bytes is shown with shortened images.
)

func (c *Console) show(p *page.Page) error {
	s, err := c.readPanes(p)
	if err != nil {
		return err
	}
	s.view.Form.Stream = true
	for i := range s.view.Others {
		s.view.Others[i].Form.Stream = true
	}
	c.AwaitBooked(p)
	return c.renderPage(p, http.StatusOK, s)
}

func (c *Console) renderPage(p *page.Page, status int, s *pane) error {
	s.view.Shell = c.Shell(p)
	s.view.Path = Path
	s.view.Owner = p.User.AccountID + "/" + p.User.ID
	s.view.KeepsRuns = c.o.Content != nil && p.User.KeepContent && p.Principal().Rights.Has(app.ReadContent)
	if err := c.nameOpened(p, s, &s.view.Pane); err != nil {
		return err
	}
	drawAnswers(s.view.Form.Turns)
	for i := range s.view.Others {
		if err := c.nameOpened(p, s, &s.view.Others[i]); err != nil {
			return err
		}
		drawAnswers(s.view.Others[i].Form.Turns)
	}
	return c.Render(p, status, playpages.Page(s.view))
}

// settings shows the form again for another model or style; nothing is checked yet.
func (c *Console) settings(p *page.Page) error {
	s, err := c.readPanes(p)
	if err != nil {
		return err
	}
	return c.renderPage(p, http.StatusOK, s)
}

// submit answers the form: for the script of the page as lines of events, else as the page with the whole answer in it.
func (c *Console) submit(p *page.Page) error {
	s, err := c.readPanes(p)
	if err != nil {
		return err
	}
	switch {
	case s.arrange():
		return c.renderPage(p, http.StatusOK, s)
	case p.Request().Header.Get("Accept") == eventsType:
		return c.streamAnswer(p, s)
	}
	return c.answerPage(p, s)
}

// call is the call of the text pipeline for the form. It belongs to the account, and is made by its user and not by a key. It is
// strict: a person who sets a parameter by hand wants to know that the model does not take it, as the request that is shown beside
// the answer would not be the one that was sent.
func (s *pane) call(p *page.Page, stream bool) (gateway.Call, error) {
	if s.model == nil {
		return gateway.Call{}, app.Errorf(app.Unavailable, "no_available_provider", "No model can be called right now.")
	}
	if s.formErr != nil {
		return gateway.Call{}, s.formErr
	}
	turns := s.conversation()
	if !needsAnswer(turns) {
		return gateway.Call{}, app.Errorf(app.Invalid, "invalid_request_error", "Write a message first.").At("prompt")
	}
	body, err := s.body(turns, stream)
	if err != nil {
		return gateway.Call{}, err
	}
	return gateway.Call{
		ID: p.RequestID(), Principal: p.Principal(), Style: s.style, Body: body, Headers: http.Header{}, LimitFactor: p.LimitFactor(),
		Strict: true,
	}, nil
}

// generate makes the call and lets out hear the answer. An error may come after a part of it.
func (c *Console) generate(p *page.Page, s *pane, call gateway.Call, out listener) (playpages.Result, error) {
	codec, err := CodecOf(s.style)
	if err != nil {
		return playpages.Result{}, err
	}
	parser := &answerParser{
		codec: codec, out: out,
		ask: &llm.ResponseOptions{Model: s.model.ID, CallID: p.RequestID(), Created: c.o.Now().Unix(), Choices: 1, IncludeUsage: true},
	}
	r, err := c.o.Generate(p, call, parser)
	if err != nil {
		// The inspector shows what a client of the style reads when its call is rejected.
		_, body := dialect.Error(s.style, app.AsError(err), call.ID)
		_ = out.raw(body) // A disconnected browser is noticed at the end.
	} else if err = parser.finish(); r.Err != nil {
		err = r.Err
	}
	v := usageResult(r.Usage)
	v.RequestID, v.FirstByte, v.Total, v.Finish, v.Cost, v.Estimated = call.ID, r.FirstByte, r.Duration, r.FinishReason, r.Cost, r.Estimated
	return v, err
}

// streamAnswer sends the answer as it comes. A browser that goes away ends the call, as it does on the API.
func (c *Console) streamAnswer(p *page.Page, s *pane) error {
	call, err := s.call(p, s.view.Form.Stream)
	out := newEventWriter(p.Response(), c.o.Now)
	defer out.close()
	if err != nil {
		return out.end(troubleEvent(CallTrouble(err, ""))) // No call was made that a link could lead to.
	}
	if err := errors.Join(out.put(requestEvent(s, call)), out.flush(true)); err != nil {
		return err
	}
	var heard wholeAnswer
	began := c.o.Now()
	result, err := c.generate(p, s, call, teeListener{out, &heard})
	isUnkept := c.keepRun(p, s, heard.answer(), result, began)
	if err != nil {
		e := troubleEvent(CallTrouble(err, call.ID))
		if result.Cost > 0 { // A part was delivered and is charged.
			e.Note = result.Note()
		}
		e.Balance = c.newBalance(p)
		return out.end(e)
	}
	e := c.doneEvent(p, result)
	e.Unkept = isUnkept
	return out.end(e)
}

// requestEvent shows what a client of the style would send for this answer.
func requestEvent(s *pane, call gateway.Call) event {
	body := call.Body
	if len(body) > requestShownMax {
		body = withShortImages(body)
	}
	return event{Kind: "request", Method: http.MethodPost, Path: s.view.Style.Address(), Body: string(body), Headers: [][]string{
		{"Authorization", "Bearer " + codesample.KeyPlaceholder}, {"Content-Type", "application/json"},
	}}
}

func (c *Console) doneEvent(p *page.Page, r playpages.Result) event {
	region := p.Region()
	e := event{Kind: "done", Note: region.String(r.Note()), Request: r.RequestID, Estimated: r.Estimated, Balance: c.newBalance(p)}
	e.Stats = r.Stats()
	for i := range e.Stats {
		e.Stats[i].Text = region.String(e.Stats[i].Text)
	}
	for _, f := range r.Facts() {
		e.Facts = append(e.Facts, []string{f.Name, region.String(f.Value)})
	}
	return e
}

func troubleEvent(t views.PlayTrouble) event {
	e := event{
		Kind: "error", Text: t.Words(), Field: t.Field, Code: t.Code, Doc: t.Doc, Request: t.RequestID, Credit: t.NoCredit,
	}
	for _, f := range t.Line() {
		e.Facts = append(e.Facts, []string{f.Name, f.Value})
	}
	return e
}

// newBalance waits a moment until the call is booked and returns the balance after it.
func (c *Console) newBalance(p *page.Page) *balanceEvent {
	c.AwaitBooked(p)
	b := c.Balance(p)
	r := p.Region()
	return &balanceEvent{Rounded: r.String(b.Rounded()), Exact: r.String(b.Exact()), State: b.State(), Tone: string(b.Tone())}
}

// answerPage answers with the page. There is nothing to stream to, so the answer is asked for in one piece.
func (c *Console) answerPage(p *page.Page, s *pane) error {
	call, err := s.call(p, false)
	var heard wholeAnswer
	// Called is the id of the request, once a call was made that a link can lead to.
	called := ""
	if err == nil {
		called = call.ID
		out, began := NewDeferredResponse(p.Response()), c.o.Now()
		var result playpages.Result
		result, err = c.generate(p, s, call, &heard)
		heard.turn.Result = &result
		s.view.Unkept = c.keepRun(p, s, heard.answer(), result, began)
		s.view.Sent = &playpages.SentPart{Request: PrettyJSON(call.Body), Response: PrettyJSON(heard.frames.Bytes())}
		out.StartDeadline(c.o.Now())
	}
	if err != nil {
		trouble := CallTrouble(err, called)
		s.view.Trouble = &trouble
		for i := range s.view.Params {
			if one := &s.view.Params[i]; one.Path == trouble.Field && one.Error == "" {
				one.Error = trouble.Message
			}
		}
		status := page.Status(app.KindOf(err))
		if status == http.StatusBadRequest || status == http.StatusInternalServerError {
			status = http.StatusUnprocessableEntity
		}
		return c.renderPage(p, status, s)
	}
	f := &s.view.Form
	f.Turns = append(s.conversation(), heard.answer())
	if s.action != playpages.ActionRegenerate {
		f.Prompt, f.Image, f.ImageURL = "", "", ""
	}
	s.addResults()
	return c.renderPage(p, http.StatusOK, s)
}

// CallTrouble returns an error of a call as pages show it.
func CallTrouble(err error, id string) views.PlayTrouble {
	e := app.AsError(err)
	return views.PlayTrouble{
		Message: e.Message, Code: e.Code, Doc: docs.ErrorPath(e.Code), Field: fieldOf(e.Param), RequestID: id, Wait: e.RetryAfter,
		NoCredit: e.Kind == app.Unfunded,
	}
}

func usageResult(u meter.Counts) playpages.Result {
	return playpages.Result{
		Input: u[meter.InputTokens], CacheRead: u[meter.CacheReadTokens], CacheMade: u[meter.CacheWriteTokens],
		Output: u[meter.OutputTokens], Reasoning: u[meter.ReasoningTokens],
	}
}

// stoppedCall tells what became of an answer that the reader stopped: the record is written after the browser has gone.
func (c *Console) stoppedCall(p *page.Page) error {
	records, err := c.o.Reports.Requests(p.Request().Context(), p.User.AccountID, recentCallsMax)
	if err != nil {
		return err
	}
	for _, r := range records {
		if r.RequestID != p.Param("id") {
			continue
		}
		v := usageResult(r.Usage)
		v.RequestID, v.FirstByte, v.Total, v.Finish, v.Cost = r.RequestID, r.FirstByte, r.Duration, r.FinishReason, r.Cost
		v.Estimated, v.Left = r.Estimated, r.Outcome == "client_left"
		return p.JSON(http.StatusOK, c.doneEvent(p, v))
	}
	return p.NoContent(http.StatusNoContent)
}

// code shows the request as code, in each of the model's styles.
func (c *Console) code(p *page.Page) error {
	s, err := c.readPanes(p)
	if err != nil {
		return err
	}
	if s.model == nil {
		return app.Errorf(app.NotFound, "model_not_found", "No model can be called right now.")
	}
	turns := s.conversation()
	if !needsAnswer(turns) {
		turns = append(turns, playpages.Turn{Text: samplePrompt})
	}
	code := playpages.Code{
		Shell: c.Shell(p), Pane: s.view.Number, Model: s.view.Model, Style: s.view.Style, Language: p.Language(),
		Variants: s.variants(turns, s.view.Form.Stream),
	}
	if code.KeyHint, err = c.o.KeyHint(p); err != nil {
		return err
	}
	return c.Render(p, http.StatusOK, playpages.CodePage(code))
}

// estimate says what the form's call may cost, while it is being written. It is the quote that the API gives: nothing is
// spent, and no provider is asked.
func (c *Console) estimate(p *page.Page) error {
	s, err := c.readPanes(p)
	if err != nil {
		return err
	}
	call, err := s.call(p, s.view.Form.Stream)
	var q gateway.Quote
	if err == nil {
		q, err = c.o.Gateway.Quote(p.Request().Context(), call)
	}
	if err != nil {
		trouble := CallTrouble(err, "")
		return p.JSON(http.StatusOK, estimate{Why: trouble.Words(), Field: trouble.Field})
	}
	return p.JSON(http.StatusOK, estimateOf(q, p.User.Frozen).in(p.Region()))
}

// estimate is what a call may cost: at least its input, and at most with all the output that it may have.
type estimate struct {
	InputTokens int64  `json:"input_tokens"`
	Low         string `json:"low"`
	High        string `json:"high"`
	HighNanos   int64  `json:"high_nanos"`
	Text        string `json:"text"`
	Enough      bool   `json:"enough"`
	Why         string `json:"why,omitempty"`
	Field       string `json:"field,omitempty"`
}

// in writes the amounts of the estimate as a region does.
func (e estimate) in(r format.Region) estimate {
	e.Low, e.High, e.Text, e.Why = r.String(e.Low), r.String(e.High), r.String(e.Text), r.String(e.Why)
	return e
}

func estimateOf(q gateway.Quote, frozen bool) estimate {
	e := estimate{
		InputTokens: q.InputEstimate, Low: format.Dollars(q.Least), High: format.Dollars(q.Most), HighNanos: int64(q.Most),
		Enough: q.Funded && !frozen,
	}
	tokens := format.Count(e.InputTokens) + " input tokens"
	if e.InputTokens == 1 {
		tokens = "1 input token"
	}
	e.Text = "About " + tokens + ", " + e.Low + " to " + e.High
	if e.Low == e.High {
		e.Text = "About " + tokens + ", " + e.Low
	}
	switch {
	case frozen:
		e.Why = billing.Frozen().Message
	case !q.Funded:
		e.Why = "The balance of " + format.Dollars(q.Available) + " is too small: this call reserves at least " +
			format.Dollars(q.LeastReserve) + "."
	}
	return e
}
