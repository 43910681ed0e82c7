package gateway_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"umg/app"
	"umg/app/apptest"
	"umg/app/dialect"
	"umg/app/egress"
	"umg/app/gateway"
	"umg/app/llm"
	"umg/app/simulator/emulator"
)

// emulatedText is what the emulator answers, and emulatedArgument is in the arguments of the tool that it calls.
const (
	emulatedText     = "Olá! Como posso ajudar você hoje? ✓"
	emulatedArgument = "Olinda"
)

// pngPixel is an image of one pixel.
var pngPixel = func() string {
	raw := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\rIDATx\x9cc\xf8\xff\xff?\x00" +
		"\x05\xfe\x02\xfe\xa75\x81\x84\x00\x00\x00\x00IEND\xaeB`\x82"
	return base64.StdEncoding.EncodeToString([]byte(raw))
}()

// finishes are the words of each style for the end of an answer, and for one that calls a tool.
var finishes = map[llm.Style][2]string{
	llm.Chat: {"stop", "tool_calls"}, llm.Messages: {"end_turn", "tool_use"}, llm.Responses: {"completed", "completed"}, llm.Native: {"STOP", "STOP"},
}

// emulatedCell is one case of a client at a way.
type emulatedCell struct {
	*emulatedBench
	way   *emulated
	style llm.Style
	mark  string // Mark is a word of the prompt that only this cell has.
}

var emulatedMarks atomic.Int64

// asks makes a call whose prompt has the mark.
func (c *emulatedCell) asks(prompt string, a asked) gateway.Call {
	a.prompt = prompt + " " + c.mark
	return c.styledCall(c.style, "test/"+c.way.name, a)
}

// billed is the only request that the provider has got for this cell.
func (c *emulatedCell) billed() emulator.Record {
	c.t.Helper()
	all := c.emulator.Records(c.mark)
	if len(all) != 1 {
		c.t.Fatalf("the provider got %d requests: %+v", len(all), all)
	}
	return all[0]
}

// answers makes a call that is answered, and checks the answer, the usage and the charge.
func (c *emulatedCell) answers(call gateway.Call, stream bool, text, finish string) emulator.Record {
	c.t.Helper()
	r, s, err := c.generate(call)
	if err != nil {
		c.t.Fatalf("%v, the provider got %+v", err, c.emulator.Records(c.mark))
	}
	h, record := c.listenTo(s, c.style, stream), c.billed()
	if !strings.Contains(h.text, text) || h.finish != finish || h.err != nil {
		c.t.Errorf("the client got %q, finish %q, error %v", h.text, h.finish, h.err)
	}
	u := record.Billed
	if c.way.counts != nil {
		u = c.way.counts(u)
	}
	want := llm.Usage{Input: u.Input, CacheRead: u.CacheRead, Output: u.Output, Reasoning: u.Reasoning}
	if r.Cost != priceOf(u) || r.Estimated || r.Implausible || r.Unpriced {
		c.t.Errorf("the call cost %s, and the provider billed %+v, which is %s: %+v", r.Cost, record.Billed, priceOf(u), r)
	}
	isOwn := c.way.ownUsage && c.style == c.way.style
	if !h.told || h.cost != r.Cost || !isOwn && (h.usage.Input+h.usage.CacheRead != want.Input+want.CacheRead || h.usage.Output != want.Output) {
		c.t.Errorf("the client got the usage %+v and the cost %s, want %+v and %s", h.usage, h.cost, want, r.Cost)
	}
	if got := c.record(); got.Cost != r.Cost || got.Provider != c.way.name {
		c.t.Errorf("the record has %+v", got)
	}
	return record
}

// emulatedCases are the questions to each way. Those in every style are asked by clients of all styles, and the others by clients of one:
// app/dialect has what answers of every form become in every style.
var emulatedCases = []struct {
	name         string
	do           func(c *emulatedCell)
	inEveryStyle bool
}{
	{"text", func(c *emulatedCell) {
		c.answers(c.asks("Say hello", asked{system: "Be kind", bound: 2000}), false, emulatedText, finishes[c.style][0])
	}, false},
	{"stream", func(c *emulatedCell) {
		c.answers(c.asks("Say hello", asked{system: "Be kind", bound: 2000, stream: true}), true, emulatedText, finishes[c.style][0])
	}, false},
	{"tool", func(c *emulatedCell) {
		c.answers(c.asks("Call get_weather", asked{tool: true, bound: 2000}), false, emulatedArgument, finishes[c.style][1])
	}, false},
	{"tool stream", func(c *emulatedCell) {
		c.answers(c.asks("Call get_weather", asked{tool: true, bound: 2000, stream: true}), true, emulatedArgument, finishes[c.style][1])
	}, true},
	{"image", (*emulatedCell).sendsImage, false},
	{"error", (*emulatedCell).mustWait, false},
	{"cancel", (*emulatedCell).leaves, false},
}

// imageMembers are the members of a request of each style with an image.
func imageMembers(style llm.Style, prompt string) members {
	switch style {
	case llm.Messages:
		source := members{"type": "base64", "media_type": "image/png", "data": pngPixel}
		return members{"messages": []any{members{"role": "user", "content": []any{
			members{"type": "text", "text": prompt}, members{"type": "image", "source": source}}}}}
	case llm.Responses:
		return members{"input": []any{members{"role": "user", "content": []any{
			members{"type": "input_text", "text": prompt}, members{"type": "input_image", "image_url": "data:image/png;base64," + pngPixel}}}}}
	case llm.Native:
		return members{"contents": []any{members{"role": "user", "parts": []any{
			members{"text": prompt}, members{"inlineData": members{"mimeType": "image/png", "data": pngPixel}}}}}}
	}
	return members{"messages": []any{members{"role": "user", "content": []any{
		members{"type": "text", "text": prompt}, members{"type": "image_url", "image_url": members{"url": "data:image/png;base64," + pngPixel}}}}}}
}

// sendsImage sends an image. A model without images does not get it.
func (c *emulatedCell) sendsImage() {
	call := c.asks("See", asked{bound: 2000, more: imageMembers(c.style, "See "+c.mark)})
	if c.way.noImages {
		if _, _, err := c.generate(call); err == nil || len(c.emulator.Records(c.mark)) > 0 {
			c.t.Errorf("error %v, the provider got %+v", err, c.emulator.Records(c.mark))
		}
		return
	}
	if record := c.answers(call, false, emulatedText, finishes[c.style][0]); record.Images != 1 {
		c.t.Errorf("the provider got %d images", record.Images)
	}
}

// addressMembers are the members of a request with the address of an image. The native style has addresses of the provider's own files alone.
func addressMembers(style llm.Style, prompt, address string) members {
	switch style {
	case llm.Messages:
		return members{"messages": []any{members{"role": "user", "content": []any{
			members{"type": "text", "text": prompt}, members{"type": "image", "source": members{"type": "url", "url": address}}}}}}
	case llm.Responses:
		return members{"input": []any{members{"role": "user", "content": []any{
			members{"type": "input_text", "text": prompt}, members{"type": "input_image", "image_url": address}}}}}
	}
	return members{"messages": []any{members{"role": "user", "content": []any{
		members{"type": "text", "text": prompt}, members{"type": "image_url", "image_url": members{"url": address}}}}}}
}

// TestEmulatedProvidersGetImagesByAddress sends the address of an image to each provider that takes it, or whose style has images as data
// alone, so that the gateway fetches them.
func TestEmulatedProvidersGetImagesByAddress(t *testing.T) {
	t.Parallel()
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		raw, _ := base64.StdEncoding.DecodeString(pngPixel)
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(raw)
	}))
	t.Cleanup(files.Close)
	out, err := egress.New(egress.Options{Exceptions: []string{strings.TrimPrefix(files.URL, "http://")}})
	must(t, err)
	b := setup(t, startMoney, func(o *gateway.Options) { o.Egress = out })
	var providers, models string
	for i := range emulatedWays {
		p, m := emulatedWays[i].catalogOf()
		providers, models = providers+p, models+m
	}
	e, origin := newEmulator(t, 0)
	all := b.emulate(e, origin, providers, models, nil)
	for i := range emulatedWays {
		w, style := &emulatedWays[i], []llm.Style{llm.Chat, llm.Messages, llm.Responses}[i%3]
		if w.noImages {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s", w.name, style), func(t *testing.T) {
			t.Parallel()
			c := &emulatedCell{all.cell(t), w, style, fmt.Sprintf("mark%dx", emulatedMarks.Add(1))}
			call := c.asks("See", asked{bound: 2000, more: addressMembers(style, "See "+c.mark, files.URL+"/pixel.png")})
			if record := c.answers(call, false, emulatedText, finishes[style][0]); record.Images != 1 {
				t.Errorf("the provider got %d images", record.Images)
			}
		})
	}
}

// mustWait makes a call to a provider that has too many requests. The client reads how long to wait.
func (c *emulatedCell) mustWait() {
	c.emulator.Add(emulator.Rule{Text: c.mark, Fault: "rate"})
	call := c.asks("Say hello", asked{bound: 2000})
	_, _, err := c.generate(call)
	e := app.AsError(err)
	if e == nil || e.Kind != app.Exhausted || e.RetryAfter != c.way.wait {
		c.t.Fatalf("error %v, wait %+v, want %s", err, e, c.way.wait)
	}
	if status, _ := dialect.Error(c.style, e, call.ID); status != http.StatusTooManyRequests {
		c.t.Errorf("the client got the status %d", status)
	}
	if posted := c.balance().Posted; posted != startMoney {
		c.t.Errorf("the account has %s", posted)
	}
}

// leaves makes a call whose client leaves after the first content.
func (c *emulatedCell) leaves() {
	c.emulator.Add(emulator.Rule{Text: c.mark, Fault: emulator.Stall})
	call := c.asks("Say hello", asked{bound: 2000, stream: true})
	ctx, leave := context.WithCancel(c.t.Context())
	defer leave()
	s := &sink{hook: func(p []byte) error {
		if strings.Contains(string(p), "Ol") {
			leave()
		}
		return nil
	}}
	r, err := c.gateway.Generate(ctx, call, s)
	if r == nil || r.Outcome != "client_left" {
		c.t.Errorf("error %v, report %+v", err, r)
	}
	var records []emulator.Record
	apptest.Eventually(c.t, 10*time.Second, "the provider sees that the client has left", func() bool {
		records = c.emulator.Records(c.mark)
		return len(records) > 0
	})
	if len(records) != 1 || !records[0].Left {
		c.t.Errorf("the provider got %+v", records)
	}
	if got := c.record(); got.Cost != r.Cost || r.Cost > priceOf(records[0].Billed)*2 {
		c.t.Errorf("the call cost %s, the record has %+v, the provider billed %+v", r.Cost, got, records[0].Billed)
	}
}

// TestEmulatedProvidersServeClientsOfAllStyles calls each provider in each style, and asks it each question.
func TestEmulatedProvidersServeClientsOfAllStyles(t *testing.T) {
	t.Parallel()
	var providers, models string
	for i := range emulatedWays {
		p, m := emulatedWays[i].catalogOf()
		providers, models = providers+p, models+m
	}
	e, origin := newEmulator(t, 0)
	b, started := setup(t, startMoney).emulate(e, origin, providers, models, nil), time.Now()
	var calls atomic.Int64
	t.Run("cells", func(t *testing.T) {
		for i := range emulatedWays {
			w := &emulatedWays[i]
			for j, style := range llm.Styles() {
				for k, one := range emulatedCases {
					if !one.inEveryStyle && (i+k)%len(llm.Styles()) != j {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s", w.name, style, one.name), func(t *testing.T) {
						t.Parallel()
						calls.Add(1)
						one.do(&emulatedCell{b.cell(t), w, style, fmt.Sprintf("mark%dx", emulatedMarks.Add(1))})
					})
				}
			}
		}
	})
	if b.reserved() != 0 {
		t.Errorf("%s is reserved", b.reserved())
	}
	t.Logf("%d cells in %s", calls.Load(), time.Since(started).Round(time.Millisecond))
}
