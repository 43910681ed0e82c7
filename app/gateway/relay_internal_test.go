package gateway

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
	"umg/app/meter"
	"umg/app/provider"
	"umg/billing"
)

type discardSink struct{ bytes, flushes int }

func (n *discardSink) Begin(int, string, http.Header) error { return nil }
func (n *discardSink) Write(p []byte) error                 { n.bytes += len(p); return nil }
func (n *discardSink) Flush() error                         { n.flushes++; return nil }

// book keeps the checkpoints of a call, which is all that a relay needs of a lease manager.
type book struct{ marks []billing.Settlement }

func (b *book) Hold(context.Context, billing.HoldRequest) (billing.Hold, error) {
	return billing.Hold{}, nil
}
func (b *book) Extend(context.Context, *billing.Hold, app.Amount) error        { return nil }
func (b *book) ExtendUpTo(context.Context, *billing.Hold, app.Amount) error    { return nil }
func (b *book) Progress(_ billing.Hold, s billing.Settlement)                  { b.marks = append(b.marks, s) }
func (b *book) Settle(context.Context, billing.Hold, billing.Settlement) error { return nil }

var card = billing.RateCard{ID: "card", Rates: []billing.Rate{
	{Meter: meter.InputTokens, Amount: 3 * app.Dollar, Per: 1_000_000}, {Meter: meter.OutputTokens, Amount: 15 * app.Dollar, Per: 1_000_000},
}}

const frame = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1760000000,"model":"up",` +
	`"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}` + "\n\n"

func stream(frames int) []byte {
	return []byte(strings.Replace(frame, `"content":" word"`, `"role":"assistant","content":""`, 1) + strings.Repeat(frame, frames) +
		strings.NewReplacer(`"content":" word"`, "", "null", `"stop"`).Replace(frame) + "data: [DONE]\n\n")
}

// relayed is a call whose upstream has just begun to answer.
func relayed(t testing.TB, g *Gateway, source *bytes.Reader, out StreamWriter) *pipeline {
	style, ok := dialect.Of(llm.Chat)
	if !ok {
		t.Fatal("the chat style is not spoken")
	}
	p := newPipeline(g, Call{})
	p.dialect, p.head, p.options = style, dialect.Head{Stream: true, Choices: 1, MaxTokens: 4096}, llm.ResponseOptions{Model: "public", Choices: 1}
	p.model = &catalog.Model{ID: "public", RateCard: card}
	if err := p.funding.price(&p.head, p.model); err != nil {
		t.Fatal(err)
	}
	p.funding.fundedTokens = 4096
	g.o.KeepAlive = time.Minute
	p.response.begin(&p.call, out, http.Header{})
	route := &catalog.Route{Provider: &catalog.Provider{ID: "alpha"}, Timeouts: catalog.Timeouts{FirstByte: time.Minute, Idle: time.Minute}}
	p.attempt = &attempt{call: &p.call, route: route, deadlines: &p.response.deadlines, stream: style.NewStream(p.options)}
	p.attempt.read(source)
	return p
}

func TestFramesAtHandAreWrittenTogether(t *testing.T) {
	t.Parallel()
	g := &Gateway{o: Options{Now: time.Now, CreditManager: &book{}}}
	out := &discardSink{}
	p := relayed(t, g, bytes.NewReader(stream(200)), out)
	if err := p.relay(t.Context()); err != nil || !p.attempt.complete {
		t.Fatal(err, p.attempt.complete)
	}
	p.close()
	if out.bytes < 200*len(frame) || out.flushes > 8 || p.attempt.stats.ContentFrames != 200 {
		t.Errorf("%d bytes in %d writes, %d frames", out.bytes, out.flushes, p.attempt.stats.ContentFrames)
	}
}

func BenchmarkRelay200Frames(b *testing.B) {
	g := &Gateway{o: Options{Now: time.Now, CreditManager: &book{}}}
	text, out := stream(200), &discardSink{}
	source := bytes.NewReader(text)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		source.Reset(text)
		p := relayed(b, g, source, out)
		if err := p.relay(b.Context()); err != nil {
			b.Fatal(err)
		}
		p.close()
	}
}

func TestTheWatchEndsSilenceAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, idle, total time.Duration
		want               error
	}{
		"first byte": {20 * time.Millisecond, time.Hour, 0, provider.ErrFirstByte},
		"idle":       {time.Hour, 20 * time.Millisecond, 0, provider.ErrIdle},
		"total":      {time.Hour, time.Hour, 20 * time.Millisecond, provider.ErrTotal},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		var w deadlines
		w.start(time.Now, &clientWriter{now: time.Now, last: time.Now()})
		w.attempt(cancel, c.first, c.total)
		if name == "idle" {
			w.stopWaiting()
			w.wait(time.Now(), c.idle, provider.ErrIdle)
		}
		<-ctx.Done()
		if got := context.Cause(ctx); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		w.close()
	}
}

// TestSilenceAfterTheEndIsNotWaitedOut reads streams whose upstream keeps the connection open: how long the next frame
// may take depends on whether anything is still to come.
func TestSilenceAfterTheEndIsNotWaitedOut(t *testing.T) {
	t.Parallel()
	g := &Gateway{o: Options{Now: time.Now, CreditManager: &book{}, Silence: silenceStandard}}
	native := func(reason string) string {
		return `data: {"candidates":[{"content":{"parts":[{"text":"word"}]},"index":0` + reason + `}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}` + "\n\n"
	}
	usage := strings.NewReplacer(`"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]`, `"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}`)
	ended := strings.NewReplacer(`{"content":" word"}`, "{}", "null", `"stop"`)
	for name, c := range map[string]struct {
		client, upstream llm.Style
		text             string
		want             time.Duration
	}{
		"nothing yet":              {llm.Native, llm.Native, "", time.Minute},
		"content":                  {llm.Native, llm.Native, native(""), time.Hour},
		"no reason":                {llm.Native, llm.Native, native(`,"finishReason":"FINISH_REASON_UNSPECIFIED"`), time.Hour},
		"a reason":                 {llm.Native, llm.Native, native(`,"finishReason":"STOP"`), silenceStandard},
		"translated content":       {llm.Chat, llm.Native, native(""), time.Hour},
		"translated without":       {llm.Chat, llm.Native, native(`,"finishReason":null`), time.Hour},
		"a reason, translated":     {llm.Chat, llm.Native, native(`,"finishReason" : "STOP"`), silenceStandard},
		"chat, its end and usage":  {llm.Chat, llm.Chat, frame + ended.Replace(frame) + usage.Replace(frame), silenceStandard},
		"chat, its end but no sum": {llm.Chat, llm.Chat, frame + ended.Replace(frame), silenceStandard},
		"chat, its end, and sum":   {llm.Native, llm.Chat, frame + ended.Replace(frame) + usage.Replace(frame), silenceStandard},
		"a reason in each":         {llm.Native, llm.Native, strings.Repeat(native(`,"finishReason":"STOP"`), 2), time.Hour},
		"and translated":           {llm.Chat, llm.Native, strings.Repeat(native(`,"finishReason":"STOP"`), 2), time.Hour},
		"translated text":          {llm.Native, llm.Chat, frame, time.Hour},
	} {
		p := relayed(t, g, bytes.NewReader([]byte(c.text)), &discardSink{})
		client, _ := dialect.Of(c.client)
		upstream, _ := dialect.Of(c.upstream)
		exchange, err := translate.New(client, upstream, &llm.Request{Turns: []llm.Turn{{Parts: []llm.Part{{Kind: llm.Text, Text: "x"}}}}}, "p", 9)
		if err != nil {
			t.Fatal(err)
		}
		if c.client == c.upstream {
			exchange = translate.Passthrough(client, nil, &p.head)
		}
		a := p.attempt
		a.exchange, a.route.Timeouts.Idle = exchange, time.Hour
		a.stream = exchange.NewStream(p.options)
		for a.frames.Buffered() || c.text != "" && !a.wait.begun {
			if err := a.step(); err != nil {
				t.Fatal(name, err)
			}
		}
		if got, _ := a.frameMax(); got != c.want {
			t.Errorf("%s: the next frame may take %s, not %s", name, got, c.want)
		}
		p.close()
	}
}

// BenchmarkRelay200FramesNoted is the same for a stream that another route could go on with.
func BenchmarkRelay200FramesNoted(b *testing.B) {
	g := &Gateway{o: Options{Now: time.Now, CreditManager: &book{}}}
	text, out := stream(200), &discardSink{}
	source := bytes.NewReader(text)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		source.Reset(text)
		p := relayed(b, g, source, out)
		p.recovery = &recovery{transcript: translate.NewTranscript(p.dialect, p.options), reserved: transcriptBytes}
		if err := p.relay(b.Context()); err != nil || p.recovery == nil {
			b.Fatal(err)
		}
		p.close()
	}
}
