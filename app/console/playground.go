package console

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"umg/app"
	"umg/app/gateway"
	"umg/app/llm"
	"umg/billing"
	"umg/views"
)

const (
	playgroundPath = consolePath + "/playground"
	recentPlaysMax = 50 // among which the record of a stopped answer is looked for
)

func (c *Console) playground(p *page) error {
	s, err := c.readPlay(p)
	if err != nil {
		return err
	}
	s.view.Form.Stream = true
	c.awaitBooks(p)
	return c.renderPlay(p, http.StatusOK, s)
}

func (c *Console) renderPlay(p *page, status int, s *play) error {
	s.view.Shell = c.shell(p)
	s.view.Path = playgroundPath
	return c.render(p, status, views.PlaygroundPage(s.view))
}

// playSettings shows the form again for another model or style; nothing is checked yet.
func (c *Console) playSettings(p *page) error {
	s, err := c.readPlay(p)
	if err != nil {
		return err
	}
	return c.renderPlay(p, http.StatusOK, s)
}

// play answers the form: for the script of the page as lines of events, else as the page with the whole answer in it.
func (c *Console) play(p *page) error {
	s, err := c.readPlay(p)
	if err != nil {
		return err
	}
	if number, ok := strings.CutPrefix(s.action, views.PlayEdit); ok {
		if n, err := strconv.Atoi(number); err == nil {
			s.edit(n)
		}
		return c.renderPlay(p, http.StatusOK, s)
	}
	if s.action == views.PlayClear {
		s.view.Form = views.PlayForm{System: s.view.Form.System, Stream: s.view.Form.Stream}
		return c.renderPlay(p, http.StatusOK, s)
	}
	if p.Request().Header.Get(echo.HeaderAccept) == playLines {
		return c.playLive(p, s)
	}
	return c.playWhole(p, s)
}

// call is the call of the corridor for the form. It is the account's, made by its user and not by a key.
func (s *play) call(p *page, stream bool) (gateway.Call, error) {
	if s.model == nil {
		return gateway.Call{}, app.Errorf(app.Unavailable, "no_available_provider", "No model can be called right now.")
	}
	if s.refuse != nil {
		return gateway.Call{}, s.refuse
	}
	turn := s.newTurn()
	if strings.TrimSpace(turn.Text) == "" && turn.Image == "" {
		return gateway.Call{}, app.Errorf(app.Invalid, "invalid_request_error", "Write a message first.").At("prompt")
	}
	body, err := s.body(append(s.view.Form.Turns, turn), stream)
	if err != nil {
		return gateway.Call{}, err
	}
	return gateway.Call{
		ID: requestID(p), Principal: p.principal(), Style: s.style, Body: body, Headers: http.Header{}, LimitFactor: p.factor(),
	}, nil
}

func requestID(p *page) string { return p.Response().Header().Get(echo.HeaderXRequestID) }

func (c *Console) sink(p *page, s *play) *playSink {
	codec, err := codecOf(s.style)
	if err != nil {
		return nil
	}
	return &playSink{
		codec: codec, ask: &llm.Ask{Model: s.model.ID, CallID: requestID(p), Created: c.o.Now().Unix(), Choices: 1, IncludeUsage: true},
	}
}

// playLive sends the answer as it comes. A browser that goes away ends the call, as it does on the API.
func (c *Console) playLive(p *page, s *play) error {
	call, err := s.call(p, s.view.Form.Stream)
	out := newPlayWriter(p.Response(), c.o.Now)
	if err != nil {
		return out.write(troubleEvent(troubleOf(err, requestID(p))))
	}
	sink := c.sink(p, s)
	sink.emit, sink.push, sink.wait = out.part, out.flush, out.wait
	report, err := c.o.Gateway.Generate(p.Request().Context(), call, sink)
	if err == nil && report.Err == nil {
		err = sink.finish()
	}
	if err == nil && report.Err != nil {
		err = report.Err
	}
	result := resultOf(report, call.ID)
	if err != nil {
		e := troubleEvent(troubleOf(err, call.ID))
		if report.Cost > 0 { // a part was delivered, and is charged
			e.Note = result.Note()
		}
		e.Balance = c.funds(p)
		return out.write(e)
	}
	return out.write(c.doneEvent(p, result))
}

func (c *Console) doneEvent(p *page, r views.PlayResult) playEvent {
	e := playEvent{Kind: "done", Note: r.Note(), Request: r.RequestID, Balance: c.funds(p)}
	for _, f := range r.Facts() {
		e.Facts = append(e.Facts, []string{f.Name, f.Value})
	}
	return e
}

func troubleEvent(t views.PlayTrouble) playEvent {
	e := playEvent{Kind: "error", Text: t.Words(), Field: t.Field, Request: t.RequestID, Credit: t.NoCredit}
	for _, f := range t.Line() {
		e.Facts = append(e.Facts, []string{f.Name, f.Value})
	}
	return e
}

// funds is the balance after a call, which it waits for a moment.
func (c *Console) funds(p *page) *playFunds {
	c.awaitBooks(p)
	b := c.balanceOf(p)
	return &playFunds{Text: b.Text(), Label: b.Label(), Tone: string(b.Tone())}
}

// playWhole answers with the page. There is nothing to stream to, so the answer is asked for in one piece.
func (c *Console) playWhole(p *page, s *play) error {
	call, err := s.call(p, false)
	var answer views.PlayTurn
	if err == nil {
		answer, err = c.wholeAnswer(p, s, call)
	}
	if err != nil {
		trouble := troubleOf(err, requestID(p))
		s.view.Trouble = &trouble
		s.blame(trouble)
		status, known := statusOf[app.KindOf(err)]
		if !known || status == http.StatusBadRequest {
			status = http.StatusUnprocessableEntity
		}
		return c.renderPlay(p, status, s)
	}
	f := &s.view.Form
	f.Turns = append(f.Turns, s.newTurn(), answer)
	f.Prompt, f.Image, f.ImageURL = "", "", ""
	return c.renderPlay(p, http.StatusOK, s)
}

func (c *Console) wholeAnswer(p *page, s *play, call gateway.Call) (views.PlayTurn, error) {
	out := newQuietWriter(p.Response())
	turn := views.PlayTurn{Answer: true}
	sink := c.sink(p, s)
	nothing := func() error { return nil }
	sink.push, sink.wait = nothing, nothing
	sink.emit = func(kind llm.PartKind, text string) error {
		if kind == llm.Reasoning {
			turn.Thought += text
		} else {
			turn.Text += text
		}
		return nil
	}
	report, err := c.o.Gateway.Generate(p.Request().Context(), call, sink)
	out.hurry(c.o.Now())
	if err == nil && report.Err == nil {
		err = sink.finish()
	} else if err == nil {
		err = report.Err
	}
	result := resultOf(report, call.ID)
	turn.Result = &result
	return turn, err
}

// blame puts a refusal beside the parameter it is about.
func (s *play) blame(t views.PlayTrouble) {
	for i := range s.view.Params {
		if one := &s.view.Params[i]; one.Path == t.Field && one.Error == "" {
			one.Error = t.Message
		}
	}
}

func troubleOf(err error, id string) views.PlayTrouble {
	e := app.AsError(err)
	return views.PlayTrouble{
		Message: e.Message, Code: e.Code, Field: e.Param, RequestID: id, Wait: e.RetryAfter, NoCredit: e.Kind == app.Unfunded,
	}
}

func resultOf(r *gateway.Report, id string) views.PlayResult {
	v := usageResult(r.Usage)
	v.RequestID, v.FirstByte, v.Total, v.Finish, v.Cost, v.Estimated = id, r.FirstByte, r.Duration, r.FinishReason, r.Cost, r.Estimated
	return v
}

func usageResult(u billing.Usage) views.PlayResult {
	return views.PlayResult{
		Input: u[billing.InputTokens], CacheRead: u[billing.CacheReadTokens], CacheMade: u[billing.CacheWriteTokens],
		Output: u[billing.OutputTokens], Reasoning: u[billing.ReasoningTokens],
	}
}

// playCall tells what became of an answer that the reader stopped: the record is written after the browser has gone.
func (c *Console) playCall(p *page) error {
	records, err := c.o.Ledger.Requests(p.Request().Context(), p.user.AccountID, recentPlaysMax)
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

// playCode shows the request as code, in each of the model's styles.
func (c *Console) playCode(p *page) error {
	s, err := c.readPlay(p)
	if err != nil {
		return err
	}
	if s.model == nil {
		return app.Errorf(app.NotFound, "model_not_found", "No model can be called right now.")
	}
	turn := s.newTurn()
	if strings.TrimSpace(turn.Text) == "" && turn.Image == "" {
		turn.Text = samplePrompt
	}
	body, err := s.body(append(s.view.Form.Turns, turn), s.view.Form.Stream)
	if err == nil {
		err = s.refuse
	}
	code := views.PlayCode{Shell: c.shell(p), Model: s.view.Model, Style: s.view.Style, Language: language(p)}
	if err != nil {
		code.Variants = []views.PlayVariant{{Style: s.view.Style, Refusal: app.AsError(err).Message}}
	} else {
		code.Variants = s.variants(body)
	}
	if code.KeyHint, err = c.keyHint(p); err != nil {
		return err
	}
	return c.render(p, http.StatusOK, views.PlayCodePage(code))
}
