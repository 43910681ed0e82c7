package translate

import (
	"slices"

	"umg/app"
	"umg/app/dialect"
	"umg/app/llm"
)

// ReadBody reads a whole answer of the provider.
func (x *Exchange) ReadBody(raw []byte, a llm.ResponseOptions) (dialect.Body, error) {
	if x.t == nil {
		return x.client.ReadBody(raw, a)
	}
	full := x.options(a)
	answer, err := x.upstream.Codec.DecodeResponse(raw, full)
	if err != nil {
		return nil, err
	}
	for i := range answer.Parts {
		switch p := &answer.Parts[i]; p.Kind {
		case llm.Call:
			if x.t.freeText[p.Call.Name] {
				p.Call.Arguments = unwrapFreeText(p.Call.Arguments)
			}
			x.t.restore(&p.Call, full)
		case llm.Reasoning:
			p.Signature = x.t.sealThought(x.upstream.Style, digestOf(digestStart, p.Text), p.Signature)
		}
	}
	// The answer ends at the first stop sequence in its text.
	watcher := stopWatcher{list: x.t.stops}
	for i := range answer.Parts {
		p := &answer.Parts[i]
		if p.Kind != llm.Text {
			continue
		}
		if safe, stop := watcher.pass(p.Text); stop != "" {
			p.Text = safe
			answer.Parts = answer.Parts[:i+1]
			answer.Stop, answer.StopText, answer.Reported = llm.StopSequence, stop, false
			break
		}
		watcher.rest()
	}
	if err := x.failedBy(answer.Stop); err != nil {
		return nil, err
	}
	return &translatedBody{codec: x.client.Codec, options: full, answer: answer}, nil
}

// translatedBody is a whole answer in the client's style.
type translatedBody struct {
	codec   llm.BodyCodec
	options *llm.ResponseOptions
	answer  *llm.Response
}

func (b *translatedBody) Stats() dialect.StreamStats {
	r := b.answer
	t := dialect.StreamStats{Usage: r.Usage, Reported: r.Reported, Finish: string(r.Stop), Ended: true}
	for i := range r.Parts {
		t.ContentBytes += int64(len(r.Parts[i].Text) + len(r.Parts[i].Call.Name) + len(r.Parts[i].Call.Arguments))
	}
	return t
}

func (b *translatedBody) Append(dst []byte, charge llm.Charge) []byte {
	priced := *b.answer
	priced.Usage, priced.Reported, priced.Cost = charge.Usage, true, &charge.Cost
	return b.codec.EncodeResponse(dst, &priced, b.options)
}

// Folded is a stream whose answer is collected into a body.
type Folded struct {
	dialect.Stream

	s    *translatedStream
	fold *foldingEncoder
}

// NewFolded returns the stream of an answer for a client that asked for JSON.
func (x *Exchange) NewFolded(a llm.ResponseOptions) *Folded {
	// The provider has answered with a stream that the gateway did not ask for.
	if x.t == nil {
		x = &Exchange{client: x.client, upstream: x.upstream, t: &translation{request: &llm.Request{}}}
	}
	f := &foldingEncoder{}
	s := x.translated(x.options(a), f)
	return &Folded{Stream: s, s: s, fold: f}
}

// Body returns the answer when the stream has ended.
func (f *Folded) Body() (dialect.Body, bool) {
	if f.s.phase != phaseEnding {
		return nil, false
	}
	f.fold.Append(nil, &f.s.finish)
	answer, whole := f.fold.Response()
	answer.Parts = slices.Clip(answer.Parts)
	return &translatedBody{codec: f.s.exchange.client.Codec, options: f.s.options, answer: answer}, whole
}

// foldingEncoder is an encoder that collects the answer and writes nothing.
type foldingEncoder struct{ llm.Folder }

func (f *foldingEncoder) Append(dst []byte, e *llm.Event) []byte {
	f.Add(e)
	return dst
}

func (f *foldingEncoder) Fail(dst []byte, _ *app.Error, _ string, _ *llm.Charge) []byte { return dst }

func (f *foldingEncoder) Decoder(*llm.ResponseOptions) llm.StreamDecoder { return nil }

func (f *foldingEncoder) Encoder(*llm.ResponseOptions) llm.StreamEncoder { return f }
