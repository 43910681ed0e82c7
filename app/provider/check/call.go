package check

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
	"umg/app/provider"
	"umg/app/sse"
	"umg/app/usagereader"
)

const (
	// textTokensMax bounds the answers of test calls, and toolTokensMax those with a tool. Models that think need room for it.
	textTokensMax = 256
	toolTokensMax = 1024

	requestSlack   = 512
	streamBytesMax = 4 << 20
	toolName       = "get_weather"
	versionHeader  = "Anthropic-Version"
	version        = "2023-06-01"
)

const toolParameters = `{"type":"object","properties":{"city":{"type":"string","description":"The name of the city"}},"required":["city"]}`

// errNoStream means that the provider answered in one piece when it was asked for a stream.
var errNoStream = errors.New("check: the answer is no stream")

// question is a test call.
type question struct {
	stream, tool bool
	// credential is the index of the credential.
	credential int
}

// request is the call in the form of package llm.
func (q question) request(target *target) *llm.Request {
	r := &llm.Request{Model: target.route.Model, ProviderModel: target.route.Model, Stream: q.stream, MaxOutput: textTokensMax}
	text := "Reply with the one word: hello"
	if q.tool {
		text = "What is the weather in Olinda? Call " + toolName + "."
		r.MaxOutput = toolTokensMax
		r.Tools = []llm.Tool{{Name: toolName, Description: "Get the weather in a city.", Parameters: []byte(toolParameters)}}
	}
	if most := target.model.MaxOutputTokens; most > 0 {
		r.MaxOutput = min(r.MaxOutput, most)
	}
	r.Thinking = target.model.Thinking
	r.AddTurn(llm.User, llm.TextPart(text, ""))
	return r
}

// reply is the answer to a test call.
type reply struct {
	response *llm.Response
	// answered means that the provider has begun an answer.
	answered bool
	// first is the time until the first content of a stream.
	first time.Duration
}

// ask makes a test call. The error is a *provider.Fault or errNoStream.
func (r *run) ask(ctx context.Context, t *target, q question) (reply, error) {
	began := r.o.Now()
	d, _ := dialect.Of(t.route.Style)
	x, err := translate.New(d, d, q.request(t), t.route.Provider.ID, textTokensMax)
	if err != nil {
		return reply{}, provider.NewFault(provider.ClassSetup, err)
	}
	if t.route.Quirks != nil {
		x.ApplyQuirks(t.route.Quirks)
	}
	if err := x.Prepare(); err != nil {
		return reply{}, provider.NewFault(provider.ClassSetup, err)
	}
	payload := provider.NewPayload(x.Size() + requestSlack)
	defer payload.Release()
	payload.Data = x.Request(payload.Data, dialect.Edit{Model: t.route.Model})
	answer, f := r.o.Client.Send(ctx, provider.Attempt{
		Route: t.route, Credential: q.credential, Payload: payload, Header: headerOf(t.route), Stream: q.stream, Observe: r.observe,
	})
	if f != nil {
		return reply{}, f
	}
	defer answer.Close()
	options := llm.ResponseOptions{Model: t.route.Model, Choices: 1}
	if reader, known := usagereader.Of(t.route.Provider.UsageReader, t.route.Style); known {
		options.UsageReader = reader
	}
	if q.stream {
		if !answer.Stream {
			return reply{answered: true}, errNoStream
		}
		return r.readStream(answer, d.Codec.Decoder(&options), began)
	}
	return readWhole(answer, d.Codec, &options)
}

// headerOf is the header that calls of a route need beside those of its provider.
func headerOf(route *catalog.Route) http.Header {
	if route.Style != llm.Messages || route.Wire != nil {
		return nil
	}
	for name := range route.Provider.Headers {
		if strings.EqualFold(name, versionHeader) {
			return nil
		}
	}
	return http.Header{versionHeader: {version}}
}

// readWhole reads an answer in one piece.
func readWhole(answer *provider.Answer, codec llm.Codec, options *llm.ResponseOptions) (reply, error) {
	body, f := answer.ReadAll()
	if f != nil {
		return reply{answered: true}, f
	}
	response, err := codec.DecodeResponse(body, options)
	if err != nil {
		return reply{answered: true}, faultOfAnswer(answer, err)
	}
	return reply{response: response, answered: true}, nil
}

// readStream reads a stream to its end.
func (r *run) readStream(answer *provider.Answer, decoder llm.StreamDecoder, began time.Time) (reply, error) {
	frames := sse.NewReader(io.LimitReader(answer, streamBytesMax), nil)
	defer frames.Close()
	var folder llm.Folder
	got := reply{answered: true}
	var events []llm.Event
	for {
		frame, err := frames.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return got, answer.Fault(err)
		}
		if frame.Data == nil { // The frame is a sign of life.
			continue
		}
		events, err = decoder.Decode(events[:0], frame.Event, frame.Data)
		for i := range events {
			if events[i].Kind == llm.EventDelta && got.first == 0 {
				got.first = r.o.Now().Sub(began)
			}
			folder.Add(&events[i])
		}
		if errors.Is(err, llm.ErrEnd) {
			break
		}
		if err != nil && !errors.Is(err, llm.ErrMalformed) {
			return got, faultOfAnswer(answer, err)
		}
	}
	events, err := decoder.End(events[:0])
	for i := range events {
		folder.Add(&events[i])
	}
	got.response, _ = folder.Response()
	if err != nil {
		return got, faultOfAnswer(answer, err)
	}
	return got, nil
}

// faultOfAnswer is the fault of an answer that a codec cannot read.
func faultOfAnswer(answer *provider.Answer, err error) *provider.Fault {
	if said, ok := errors.AsType[*llm.UpstreamError](err); ok {
		return answer.ErrorFault(said.Body)
	}
	if errors.Is(err, llm.ErrCut) {
		return provider.NewFault(provider.ClassReset, err)
	}
	return provider.NewFault(provider.ClassContent, err)
}
