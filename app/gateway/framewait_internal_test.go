package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/dialect/translate"
	"umg/app/llm"
	"umg/app/provider"
)

// signs are frames with which an upstream shows that it lives, and says nothing of the answer.
var signs = map[llm.Style][]string{
	llm.Chat: {
		": keep-alive\n\n",
		`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"up","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n",
		`data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"up","choices":[{"index":0,"delta":{},"finish_reason":null}]}` + "\n\n",
	},
	llm.Messages: {
		"event: ping\ndata: {\"type\":\"ping\"}\n\n",
		": hi\n\n",
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\"}}\n\n",
	},
	llm.Responses: {
		"event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":1}\n\n",
		"event: response.in_progress\ndata: {\"type\":\"response.in_progress\",\"sequence_number\":1,\"response\":{\"id\":\"r\",\"status\":\"in_progress\",\"output\":[]}}\n\n",
		"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":\"\"}\n\n",
	},
	llm.Native: {
		": hi\n\n",
		`data: {"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"index":0}]}` + "\n\n",
		`data: {"usageMetadata":{"promptTokenCount":1}}` + "\n\n",
	},
}

// contents are frames that say something: text, then a thought, then a piece of a call or another thought.
var contents = map[llm.Style][]string{
	llm.Chat: {
		`data: {"id":"c","choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}]}` + "\n\n",
		`data: {"id":"c","choices":[{"index":0,"delta":{"reasoning_content":"hm"},"finish_reason":null}]}` + "\n\n",
		`data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{"}}]},"finish_reason":null}]}` + "\n\n",
	},
	llm.Messages: {
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word\"}}\n\n",
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}}\n\n",
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\"}}\n\n",
	},
	llm.Responses: {
		"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":\"word\"}\n\n",
		"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":\"more\"}\n\n",
	},
	llm.Native: {
		`data: {"candidates":[{"content":{"role":"model","parts":[{"text":"word"}]},"index":0}]}` + "\n\n",
		`data: {"candidates":[{"content":{"role":"model","parts":[{"thought":true,"text":"hm"}]},"index":0}]}` + "\n\n",
	},
}

// quietCall is a call whose upstream is a pipe, with waits of a minute for the first byte and half a minute behind it.
func quietCall(t *testing.T, client, upstream llm.Style, folded bool, content time.Duration) (*pipeline, *io.PipeWriter) {
	t.Helper()
	g := &Gateway{o: Options{Now: time.Now, CreditManager: &book{}, Silence: silenceStandard}}
	p := relayed(t, g, bytes.NewReader(nil), &discardSink{})
	a := p.attempt
	a.route.Timeouts = catalog.Timeouts{FirstByte: time.Minute, Idle: 30 * time.Second, Content: content}
	from, _ := dialect.Of(upstream)
	to, _ := dialect.Of(client)
	a.exchange = translate.Passthrough(to, nil, &p.head)
	if client != upstream {
		exchange, err := translate.New(to, from, &llm.Request{Turns: []llm.Turn{{Parts: []llm.Part{{Kind: llm.Text, Text: "x"}}}}}, "p", 9)
		if err != nil {
			t.Fatal(err)
		}
		a.exchange = exchange
	}
	if a.stream = a.exchange.NewStream(p.options); folded {
		a.stream = a.exchange.NewFolded(p.options)
	}
	read, write := io.Pipe()
	ctx, cancel := context.WithCancelCause(t.Context())
	context.AfterFunc(ctx, func() { _ = write.CloseWithError(cmp.Or(context.Cause(ctx), io.EOF)) })
	a.cancel = cancel
	a.deadlines.attempt(cancel, a.route.Timeouts.FirstByte, 0)
	a.wait.contentSince = time.Now()
	a.read(read)
	return p, write
}

// send writes the frames in turn, one each period, until the reader closes the pipe.
func send(w io.Writer, frames []string, period time.Duration) {
	for i := 0; ; i++ {
		time.Sleep(period)
		if _, err := io.WriteString(w, frames[i%len(frames)]); err != nil {
			return
		}
	}
}

// eachQuiet runs a test for all pairs of styles, in fake time.
func eachQuiet(t *testing.T, test func(t *testing.T, client, upstream llm.Style, folded bool)) {
	t.Helper()
	for _, client := range llm.Styles() {
		for _, upstream := range llm.Styles() {
			for _, folded := range []bool{false, true} {
				t.Run(fmt.Sprint(client, " from ", upstream, ", folded ", folded), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { test(t, client, upstream, folded) })
				})
			}
		}
	}
}

// until steps until the attempt has an error, and says when that was.
func until(a *attempt) (time.Duration, error) {
	began := time.Now()
	for {
		if err := a.step(); err != nil {
			return time.Since(began), err
		}
		a.clearPending()
	}
}

func TestAStreamThatOnlyShowsThatItLivesEnds(t *testing.T) {
	t.Parallel()
	eachQuiet(t, func(t *testing.T, client, upstream llm.Style, folded bool) {
		for _, c := range []struct {
			named, first, later time.Duration
		}{{0, 5 * time.Minute, 150 * time.Second}, {40 * time.Second, 40 * time.Second, 40 * time.Second}} {
			p, w := quietCall(t, client, upstream, folded, c.named)
			var sender sync.WaitGroup
			sender.Go(func() { send(w, signs[upstream], 7*time.Second) })
			if took, err := until(p.attempt); !errors.Is(err, provider.ErrNoFirstContent) || took != c.first {
				t.Errorf("it ended after %s with %v, want %s", took, err, c.first)
			}
			p.close()
			sender.Wait()

			p, w = quietCall(t, client, upstream, folded, c.named)
			sender.Go(func() {
				_, _ = io.WriteString(w, contents[upstream][0])
				send(w, signs[upstream], 7*time.Second)
			})
			if took, err := until(p.attempt); !errors.Is(err, provider.ErrNoContent) || took != c.later {
				t.Errorf("behind content it ended after %s with %v, want %s", took, err, c.later)
			}
			p.close()
			sender.Wait()
		}
	})
}

func TestAStreamThatSaysSomethingNowAndThenGoesOn(t *testing.T) {
	t.Parallel()
	eachQuiet(t, func(t *testing.T, client, upstream llm.Style, folded bool) {
		p, w := quietCall(t, client, upstream, folded, 0)
		go func() {
			for i := range 12 { // The loop takes 24 minutes.
				for range 6 {
					time.Sleep(20 * time.Second)
					_, _ = io.WriteString(w, signs[upstream][0])
				}
				_, _ = io.WriteString(w, contents[upstream][min(i, len(contents[upstream])-1)])
			}
			_ = w.CloseWithError(io.ErrUnexpectedEOF)
		}()
		if took, err := until(p.attempt); !errors.Is(err, io.ErrUnexpectedEOF) || took != 24*time.Minute {
			t.Errorf("it ended after %s with %v", took, err)
		}
		p.close()
	})
}

// TestSilenceIsWhatItWas has upstreams that give no sign of life: the wait for the first byte and the one between frames hold.
func TestSilenceIsWhatItWas(t *testing.T) {
	t.Parallel()
	eachQuiet(t, func(t *testing.T, client, upstream llm.Style, folded bool) {
		p, w := quietCall(t, client, upstream, folded, 0)
		time.Sleep(50 * time.Second) // The head of the answer arrives after 50 seconds.
		if took, err := until(p.attempt); !errors.Is(err, provider.ErrFirstByte) || errors.Is(err, provider.ErrNoFirstContent) || took != 10*time.Second {
			t.Errorf("without a byte it ended after %s with %v", took, err)
		}
		p.close()

		p, w = quietCall(t, client, upstream, folded, 0)
		go func() { _, _ = io.WriteString(w, contents[upstream][0]) }()
		if took, err := until(p.attempt); !errors.Is(err, provider.ErrIdle) || errors.Is(err, provider.ErrNoContent) || took != 30*time.Second {
			t.Errorf("behind content it ended after %s with %v", took, err)
		}
		p.close()
	})
}

// TestAFloodOfSignsOfLifeEnds has an upstream that sends without a pause, so that no timer has time to fire.
func TestAFloodOfSignsOfLifeEnds(t *testing.T) {
	t.Parallel()
	const tick = 50 * time.Millisecond // The flood has thousands of frames in the wait for content.
	for _, style := range llm.Styles() {
		synctest.Test(t, func(t *testing.T) {
			p, w := quietCall(t, style, style, false, 0)
			now := time.Now()
			p.gateway.o.Now = func() time.Time { now = now.Add(tick); return now } // The clock of the deadlines stands still.
			var sender sync.WaitGroup
			sender.Go(func() { send(w, []string{": hi\n\n"}, 0) })
			if _, err := until(p.attempt); !errors.Is(err, provider.ErrNoFirstContent) {
				t.Errorf("%s: %v", style, err)
			}
			p.close()
			sender.Wait()
		})
	}
}

// TestSignsOfLifeBehindTheEndAreNotWaitedOut has upstreams that say why the answer has ended, and then keep the connection
// with signs of life.
func TestSignsOfLifeBehindTheEndAreNotWaitedOut(t *testing.T) {
	t.Parallel()
	ends := map[llm.Style]string{
		llm.Chat:     `data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n",
		llm.Messages: "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\n",
		llm.Native:   `data: {"candidates":[{"content":{"parts":[{"text":"word"}]},"index":0,"finishReason":"STOP"}]}` + "\n\n",
	}
	for upstream, end := range ends {
		for _, client := range llm.Styles() {
			synctest.Test(t, func(t *testing.T) {
				p, w := quietCall(t, client, upstream, false, 0)
				var sender sync.WaitGroup
				sender.Go(func() {
					_, _ = io.WriteString(w, contents[upstream][0]+end)
					send(w, []string{": hi\n\n"}, time.Second)
				})
				began := time.Now()
				for !p.attempt.complete {
					if err := p.attempt.step(); err != nil {
						t.Fatalf("%s from %s: %v", client, upstream, err)
					}
				}
				if took := time.Since(began); took > 5*silenceStandard {
					t.Errorf("%s from %s: the end was waited for %s", client, upstream, took)
				}
				p.close()
				sender.Wait()
			})
		}
	}
}
