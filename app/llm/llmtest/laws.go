// Package llmtest has the laws that every codec of a text style keeps, as properties over drawn requests and answers.
// It knows the form and the traits of a style; it does not know any wire format.
package llmtest

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"umg/app/llm"
	"umg/app/sse"
)

// Options are the abilities of one style, in addition to its traits.
type Options struct {
	// Systems is how many leading turns of the system the style keeps apart. Zero means one.
	Systems int
	// SystemParts is how many parts of one turn of the system the style keeps apart. Zero means one.
	SystemParts int
	// LateSystem means that turns of the system keep their place between others.
	LateSystem bool
	// Reasonings are the reasoning options that the style can express exactly.
	Reasonings  []llm.ReasoningOptions
	Verbosities []string
	// Strict means that tools and formats have a strict member.
	Strict bool
	// FormatName means that a format has a name and a description.
	FormatName bool
	// ResultError means that a result can be marked as an error.
	ResultError bool
	// ResultParts means that a result can have several parts.
	ResultParts bool
	// Groups means that tools have namespaces.
	Groups bool
	// Stops are the stop reasons that the style can express. Calls always end with llm.StopToolCalls.
	Stops []llm.Stop
	// NoCacheWrite means that the usage has no tokens written to a cache.
	NoCacheWrite bool
	// NoCacheRead means that the usage does not tell the tokens read from a cache.
	NoCacheRead bool
	// NoThoughts means that the usage does not tell the tokens of reasoning.
	NoThoughts bool
	// Interleaved means that an answer keeps text, calls and reasoning in any order.
	Interleaved bool
	// Signed means that reasoning always has a signature, even when no call follows.
	Signed bool
	// Unsigned means that reasoning never has a signature.
	Unsigned bool
	// Refusals means that an answer can be a refusal with its own text.
	Refusals bool
	Canon    func(*llm.Request)
}

// Laws checks that requests survive, that streams survive, and that the stream and the body of one answer are alike.
func Laws(t *testing.T, codec llm.Codec, o Options) {
	t.Helper()
	t.Run("requests survive", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			want := drawRequest(t, codec.Traits(), &o)
			body, err := codec.EncodeRequest(want)
			if err != nil {
				t.Fatalf("encode: %v", err)
			}
			got, err := codec.DecodeRequest(body)
			if err != nil {
				t.Fatalf("decode: %v\n%s", err, body)
			}
			// An encoder may add dropped members that only the provider needs.
			got.Dropped = nil
			ForgetPlaces(got)
			if o.Canon != nil {
				o.Canon(want)
				o.Canon(got)
			}
			if !reflect.DeepEqual(want, got) {
				t.Fatalf("the request changed\nwant %+v\ngot  %+v\nwire %s", want, got, body)
			}
		})
	})
	t.Run("streams survive", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			want := drawResponse(t, &o)
			var wire []byte
			enc := codec.Encoder(NewOptions())
			for _, e := range pieces(t, want) {
				wire = enc.Append(wire, &e)
			}
			events, err := DecodeStream(codec.Decoder(NewOptions()), wire)
			if err != nil {
				t.Fatalf("decode: %v\n%s", err, wire)
			}
			if fault := Legal(events); fault != "" {
				t.Fatalf("not a legal stream: %s\n%+v", fault, events)
			}
			compare(t, want, llm.Fold(events), wire)
		})
	})
	t.Run("stream and body are alike", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			want := drawResponse(t, &o)
			wire := codec.EncodeResponse(nil, want, NewOptions())
			got, err := codec.DecodeResponse(wire, NewOptions())
			if err != nil {
				t.Fatalf("decode: %v\n%s", err, wire)
			}
			compare(t, want, got, wire)
		})
	})
}

// ForgetPlaces removes the places in the client's request from all parts, so that requests can be compared.
func ForgetPlaces(r *llm.Request) {
	for i := range r.Turns {
		forgetPlaces(r.Turns[i].Parts)
	}
}

func forgetPlaces(parts []llm.Part) {
	for i := range parts {
		parts[i].Place = llm.Place{}
		forgetPlaces(parts[i].Result.Parts)
	}
}

// NewOptions returns options like those of the gateway.
func NewOptions() *llm.ResponseOptions {
	return &llm.ResponseOptions{Model: "meridian/atlas", CallID: "req_01test", Created: 1_760_000_000, Choices: 1, IncludeUsage: true}
}

func compare(t *rapid.T, want, got *llm.Response, wire []byte) {
	w, g := *want, *got
	w.ID, g.ID, w.Cost, g.Cost = "", "", nil, nil
	if len(w.Parts) == 0 && len(g.Parts) == 0 {
		w.Parts, g.Parts = nil, nil
	}
	if !reflect.DeepEqual(w, g) {
		t.Fatalf("the answer changed\nwant %+v\ngot  %+v\nwire %s", w, g, wire)
	}
}

// DecodeStream reads a whole stream with a decoder. It skips malformed frames.
func DecodeStream(d llm.StreamDecoder, wire []byte) ([]llm.Event, error) {
	return decodeFrom(d, bytes.NewReader(wire))
}

// DecodeInPieces is DecodeStream for a stream that arrives byte by byte.
func DecodeInPieces(d llm.StreamDecoder, wire []byte) ([]llm.Event, error) {
	return decodeFrom(d, iotest.OneByteReader(bytes.NewReader(wire)))
}

func decodeFrom(d llm.StreamDecoder, wire io.Reader) ([]llm.Event, error) {
	reader := sse.NewReader(wire, sse.NewBudget(64<<20))
	defer reader.Close()
	var events []llm.Event
	for {
		frame, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return d.End(events)
		}
		if err != nil {
			return events, err
		}
		if frame.Data == nil {
			continue
		}
		events, err = d.Decode(events, frame.Event, frame.Data)
		switch {
		case errors.Is(err, llm.ErrEnd):
			return events, nil
		case err != nil && !errors.Is(err, llm.ErrMalformed):
			return events, err
		}
	}
}

// order is the state of the check of a stream.
type order struct {
	open              llm.PartKind
	started, finished bool
}

// Legal returns what is wrong with the order of events, or an empty string. A stream may lack its end.
func Legal(events []llm.Event) string {
	var o order
	for i := range events {
		if fault := o.next(&events[i]); fault != "" {
			return fault
		}
	}
	return ""
}

func (o *order) next(e *llm.Event) string {
	switch {
	case o.finished:
		return "an event after the finish"
	case o.started == (e.Kind == llm.EventStart):
		return "no start, or a second one"
	}
	switch e.Kind {
	case llm.EventStart:
		o.started = true
	case llm.EventPart:
		if o.open != 0 || e.Part == 0 {
			return "a part inside a part, or without a kind"
		}
		o.open = e.Part
	case llm.EventDelta, llm.EventPartEnd:
		if o.open == 0 || e.Part != o.open {
			return "a delta or an end that belongs to no open part"
		}
		if e.Kind == llm.EventPartEnd {
			o.open = 0
		}
	case llm.EventFinish:
		if o.open != 0 {
			return "a finish inside a part"
		}
		o.finished = true
	}
	return ""
}
