package console

import (
	"net/http"
	"strings"
	"time"

	"umg/app"
	"umg/app/console/page"
	"umg/app/console/playground"
	"umg/app/gateway"
	"umg/app/llm"
	homepages "umg/views/home"
)

const sentBytesMax = 1 << 20 // This bounds the answer to the test call, in bytes.

// sendFirst sends the request of the first steps from the page itself, as a call of the reader, who needs no terminal for it.
func (c *Console) sendFirst(p *page.Page) error {
	sent := c.sendSample(p)
	c.AwaitBooked(p)
	status := http.StatusOK
	if sent.Trouble != "" && !p.ForScript() {
		status = http.StatusUnprocessableEntity
	}
	return c.renderOverview(p, status, start{sent: &sent})
}

func (c *Console) sendSample(p *page.Page) homepages.SentCall {
	m, ok := c.catalogFor(p).Cheapest(llm.Chat)
	if !ok {
		return sentTrouble(app.Errorf(app.Unavailable, "no_available_provider", "No model can be called right now."))
	}
	codec, err := playground.CodecOf(llm.Chat)
	if err != nil {
		return sentTrouble(err)
	}
	out, sink := playground.NewDeferredResponse(p.Response()), &bufferedResponse{}
	report, err := c.generateKept(p, gateway.Call{
		ID: p.RequestID(), Principal: p.Principal(), Style: llm.Chat, Body: playground.SampleRequest(m, llm.Chat), Headers: http.Header{},
		LimitFactor: p.LimitFactor(),
	}, sink)
	out.StartDeadline(c.o.Now())
	if err == nil && report.Err != nil {
		err = report.Err
	}
	if err != nil {
		return sentTrouble(err)
	}
	options := llm.ResponseOptions{Model: m.ID, CallID: p.RequestID(), Created: c.o.Now().Unix(), Choices: 1}
	answer, err := codec.DecodeResponse(sink.body, &options)
	if err != nil {
		return sentTrouble(err)
	}
	var text strings.Builder
	for _, e := range llm.Unfold(nil, answer) {
		if e.Kind == llm.EventDelta && e.Part == llm.Text {
			text.WriteString(e.Delta)
		}
	}
	return homepages.SentCall{
		Answer: text.String(), Model: m.ID, ID: p.RequestID(), Cost: report.Cost, Took: report.Duration.Round(time.Millisecond),
	}
}

func sentTrouble(err error) homepages.SentCall {
	e := app.AsError(err)
	fix := homepages.FixOf(e.Code)
	return homepages.SentCall{Trouble: e.Message, Fix: &fix}
}

// bufferedResponse keeps an answer in one piece.
type bufferedResponse struct{ body []byte }

// Begin does nothing, because the request asks for no stream.
func (s *bufferedResponse) Begin(int, string, http.Header) error { return nil }

// Write keeps a piece.
func (s *bufferedResponse) Write(p []byte) error {
	if len(s.body)+len(p) > sentBytesMax {
		return app.Errorf(app.Internal, "internal_error", "The answer is too large to be shown.")
	}
	s.body = append(s.body, p...)
	return nil
}

// Flush does nothing, because the answer is sent only when it is complete.
func (s *bufferedResponse) Flush() error { return nil }
