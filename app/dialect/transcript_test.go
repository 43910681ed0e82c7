package dialect_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
	"umg/app/sse"
)

// conversation is what was asked for.
func conversation() *llm.Request {
	return &llm.Request{Model: "m", Stream: true, Turns: []llm.Turn{{Parts: []llm.Part{{Kind: llm.Text, Text: "x"}}}}}
}

// answering is an answer with that text, and with thoughts before it if there are any, in pieces.
func answering(t *rapid.T, label, thoughts, text string, finish bool) []llm.Event {
	events := []llm.Event{{Kind: llm.EventStart, ID: "up-" + label}}
	for _, p := range []llm.Part{{Kind: llm.Reasoning, Text: thoughts}, {Kind: llm.Text, Text: text}} {
		if p.Text == "" {
			continue
		}
		events = append(events, llm.Event{Kind: llm.EventPart, Part: p.Kind})
		sizes := rapid.SliceOfN(rapid.IntRange(1, 9), 1, 9).Draw(t, label)
		for rest, i := []rune(p.Text), 0; len(rest) > 0; i++ {
			n := min(len(rest), sizes[i%len(sizes)])
			events = append(events, llm.Event{Kind: llm.EventDelta, Part: p.Kind, Delta: string(rest[:n])})
			rest = rest[n:]
		}
		events = append(events, llm.Event{Kind: llm.EventPartEnd, Part: p.Kind})
	}
	if finish {
		usage := llm.Usage{Input: 5, Output: 7}
		events = append(events, llm.Event{Kind: llm.EventFinish, Stop: llm.StopEnd, Usage: usage, Reported: true})
	}
	return events
}

// framed are the frames of events, each with the bytes it came in.
func framed(style llm.Style, call string, events []llm.Event) []sse.Frame {
	d, _ := dialect.Of(style)
	options := llm.ResponseOptions{Model: "up", CallID: "req_" + call, Created: 5, Choices: 1, IncludeUsage: true, Request: conversation()}
	options.Request.Reasoning.Show = "auto"
	e, wire := d.Codec.Encoder(&options), []byte(nil)
	for i := range events {
		wire = e.Append(wire, &events[i])
	}
	r := sse.NewReader(bytes.NewReader(wire), nil)
	var frames []sse.Frame
	for {
		f, err := r.Next()
		if err != nil {
			return frames
		}
		frames = append(frames, sse.Frame{Raw: bytes.Clone(f.Raw), Data: bytes.Clone(f.Data), Event: bytes.Clone(f.Event)})
	}
}

// said are the parts that a client of the style makes of a stream, and whether it ended.
func said(t *rapid.T, style llm.Style, wire []byte) (*llm.Response, bool) {
	d, _ := dialect.Of(style)
	var fold llm.Folder
	decoder := d.Codec.Decoder(&llm.ResponseOptions{Model: "m", CallID: "req_1"})
	r := sse.NewReader(bytes.NewReader(wire), nil)
	var events []llm.Event
	for {
		f, err := r.Next()
		if err != nil {
			break
		}
		if events, err = decoder.Decode(events, f.Event, f.Data); err != nil && !errors.Is(err, llm.ErrEnd) {
			t.Fatalf("%v: %s", err, f.Raw)
		}
	}
	events, _ = decoder.End(events)
	for i := range events {
		fold.Add(&events[i])
	}
	return fold.Response()
}

// way is the way of a call from a client to an upstream.
func way(t *rapid.T, client, upstream llm.Style) *translate.Exchange {
	c, _ := dialect.Of(client)
	u, _ := dialect.Of(upstream)
	if client == upstream {
		body, err := c.Codec.EncodeRequest(&llm.Request{Model: "m", Stream: true, Turns: conversation().Turns, MaxOutput: 99})
		if err != nil {
			t.Fatal(err)
		}
		head, err := c.Peek(body)
		if err != nil {
			t.Fatal(err)
		}
		return translate.Passthrough(c, body, &head)
	}
	request := conversation()
	request.Reasoning.Show = "auto"
	w, err := translate.New(c, u, request, "", 99)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Prepare(); err != nil {
		t.Fatal(err)
	}
	return w
}

// cut passes the beginning of an answer on, and returns what the client has of it and the transcript of that.
func cut(t *rapid.T, w *translate.Exchange, client llm.Style, frames []sse.Frame) ([]byte, *translate.Transcript, dialect.Stream) {
	d, _ := dialect.Of(client)
	options := llm.ResponseOptions{Model: "m", CallID: "req_9", Created: 9, Choices: 1}
	transcript, s := translate.NewTranscript(d, options), w.NewStream(options)
	var wire []byte
	for _, f := range frames {
		from := len(wire)
		var err error
		if wire, _, err = s.Frame(wire, f); err != nil {
			t.Fatal(err)
		}
		if len(wire) > from {
			transcript.Add(wire[from:])
		}
	}
	return wire, transcript, s
}

var texts = rapid.StringOfN(rapid.RuneFrom([]rune(" \n\"\\aé日🙂{}/\u2028")), 40, 120, -1)

// styles are the three of a case: the client's, the first provider's and the second's.
func styles(t *rapid.T) (client, first, second llm.Style) {
	pick := rapid.SampledFrom(llm.Styles())
	return pick.Draw(t, "client"), pick.Draw(t, "first"), pick.Draw(t, "second")
}

// goOn passes a second stream on behind the first.
func goOn(t *rapid.T, w *translate.Exchange, transcript *translate.Transcript, before dialect.Stream, wire []byte, frames []sse.Frame) ([]byte, dialect.Stream, error) {
	options := llm.ResponseOptions{Model: "m", CallID: "req_9", Created: 9, Choices: 1, Request: conversation()}
	s, ok := w.Continue(options, transcript, before.Stats())
	if !ok {
		t.Fatalf("nothing goes on with %s", wire)
	}
	for _, f := range append(frames, sse.Frame{}) {
		var err error
		if wire, _, err = s.Frame(wire, f); err != nil {
			return wire, s, err
		}
	}
	return s.Finish(wire, llm.Charge{Usage: llm.Usage{Input: 1, Output: 1}}), s, nil
}

func TestAnAnswerIsWholeWhereverItWasCut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		client, first, second := styles(t)
		text := texts.Filter(func(s string) bool { return strings.TrimSpace(s) != "" }).Draw(t, "text")
		all := framed(first, "a", answering(t, "first", "", text, false))
		w := way(t, client, first)
		from := 1
		for { // The answer may be cut once there is content.
			wire, _, s := cut(t, w, client, all[:from])
			if len(wire) > 0 {
				break
			}
			if s.Close(); from == len(all) {
				t.Fatal("nothing is said before the end")
			}
			from++
		}
		wire, transcript, s := cut(t, w, client, all[:rapid.IntRange(from, len(all)).Draw(t, "cut")])
		if !transcript.Resumable() { // The cut is between the end of a text and the end of its part.
			return
		}
		had, _ := said(t, client, wire)
		rest, on := text, way(t, client, second)
		restarts := rapid.Bool().Draw(t, "restarts")
		given := !restarts && on.Prefill(transcript, conversation())
		if given {
			begun := ""
			for _, p := range had.Parts {
				begun += p.Text
			}
			if second == llm.Messages {
				begun = strings.TrimRightFunc(begun, unicode.IsSpace)
			}
			if !strings.HasPrefix(text, begun) {
				return // The style does not send the open part.
			}
			if !rapid.Bool().Draw(t, "restarts all the same") {
				rest = text[len(begun):]
			}
		}
		wire, _, err := goOn(t, on, transcript, s, wire, framed(second, "b", answering(t, "second", "", rest, true)))
		got, whole := said(t, client, wire)
		if err != nil || !whole || len(got.Parts) != 1 || got.Parts[0].Text != text || got.Stop != llm.StopEnd {
			t.Fatalf("%v: %+v, want %q: %s", err, got, text, wire)
		}
	})
}

func TestAnotherAnswerDoesNotGoOn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		client, first, second := styles(t)
		text := "A" + texts.Draw(t, "text")
		all := framed(first, "a", answering(t, "first", "", text, false))
		wire, transcript, s := cut(t, way(t, client, first), client, all)
		if !transcript.Resumable() {
			return
		}
		other := []rune(text)
		if at := rapid.IntRange(0, len(other)-1).Draw(t, "at"); rapid.Bool().Draw(t, "shorter") {
			other = other[:at]
		} else {
			other[at] = 'Z'
		}
		had, _ := said(t, client, wire)
		if len(had.Parts) == 0 || had.Parts[0].Text != text {
			return
		}
		_, _, err := goOn(t, way(t, client, second), transcript, s, wire, framed(second, "b", answering(t, "second", "", string(other), true)))
		if !errors.Is(err, translate.ErrOtherAnswer) {
			t.Fatalf("%v for %q behind %q", err, string(other), text)
		}
	})
}
