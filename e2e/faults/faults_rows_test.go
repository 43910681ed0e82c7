package faults

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// These codes of failures are frequent.
const (
	upstreamError   = "upstream_error"
	upstreamTimeout = "upstream_timeout"
	noProvider      = "no_available_provider"
	rateLimited     = "rate_limit_exceeded"
)

// These outcomes are frequent. An upstream whose answer cannot be used is not asked again; one that fails is, once.
var (
	unusable   = fails("upstream", upstreamError, 1)
	failsTwice = fails("upstream", upstreamError, 2)
	tooLate    = fails("timeout", upstreamTimeout, 1).leaving()
	elsewhere  = fails("unavailable", noProvider, 1)
	rescued    = answers(1, 1)
	rescuedBy2 = answers(2, 1)
	well       = answers(1, 0)
)

// manyWords is the number of words of a long answer.
const manyWords = 3000

// upstreamRows are the faults of upstreams, numbered as in the list.
var upstreamRows = []faultRow{
	{"25", []fault{ // The upstream accepts the connection and never answers, or does not accept it.
		{does: "stall", tight: true, alone: tooLate, helped: rescued.leaving()},
		{at: "mute", tight: true, alone: fails("timeout", upstreamTimeout, uncounted), helped: answers(uncounted, 1)},
		{at: "closed", alone: fails("upstream", upstreamError, uncounted), helped: answers(uncounted, 1)},
	}},
	{"26", []fault{ // The upstream answers that there are too many requests.
		{does: "status=429", alone: fails("busy", rateLimited, 2), helped: rescued},
		{does: "status=429;retry-after=30", alone: fails("busy", rateLimited, 1).telling(29), helped: rescued},
		{does: "status=429;retry-date=40", alone: fails("busy", rateLimited, 1).telling(35), helped: rescued},
		{does: "status=429;retry-after=1;times=1", first: breakerOfOne, alone: answers(2, 0).after(time.Second), helped: answers(2, 0).after(time.Second)},
	}},
	{"27", []fault{ // The upstream fails repeatedly.
		{does: "status=500;times=5", first: breakerOfFive, drive: (*faultGateway).isEjected},
		{does: "status=502;times=5", first: breakerOfFive, drive: (*faultGateway).isEjected},
		{does: "status=503;times=5", first: breakerOfFive, drive: (*faultGateway).isEjected},
		{does: "status=529;times=5", first: breakerOfFive, drive: (*faultGateway).isEjected},
	}},
	{"28", []fault{ // The upstream refuses the provider's credential.
		{does: "auth", alone: elsewhere, helped: rescued},
		{does: "status=403", alone: elsewhere, helped: rescued},
		{does: "status=402", alone: elsewhere, helped: rescued},
		{first: wrongCredential, alone: elsewhere, helped: rescued},
		{first: wrongCredential + "    credentials: [\"${UMG_SIMULATOR_KEY}\"]\n", alone: answers(2, 0), helped: answers(2, 0)},
	}},
	{"29", []fault{ // The upstream sends a body that is not an answer.
		{does: "html", alone: unusable, helped: rescued},
		{does: "empty", alone: unusable, helped: rescued},
		{does: "truncated-json", alone: unusable, helped: rescued},
		{does: "content-type=text/plain", alone: unusable, helped: rescued},
		{does: "error-in-200", alone: failsTwice, helped: rescuedBy2},
		{does: "json-instead-of-stream", form: streamOnly, alone: well, helped: well},
		{does: "stream-instead-of-json", form: jsonOnly, alone: well.with("usage_missing"), helped: well.with("usage_missing")},
	}},
	{"30", []fault{ // The upstream cuts the answer in the middle.
		{does: "cut-after=4t;pace=5ms", form: streamOnly, every: true, alone: breaksOff("upstream", 1, 0), helped: rescued.with("recovered")},
		{does: "reset-after=4t;pace=40ms", form: streamOnly, alone: breaksOff("upstream", 1, 0), helped: rescued.with("recovered")},
		{does: "end-after=4t;pace=5ms", form: streamOnly, every: true, alone: breaksOff("upstream", 1, 0), helped: rescued.with("recovered")},
		{does: "error-after=4t;pace=5ms;status=500", form: streamOnly, every: true, alone: breaksOff("upstream", 1, 0), helped: rescued.with("recovered")},
		{does: "cut-after=0", form: streamOnly, alone: failsTwice, helped: rescuedBy2},
		{does: "cut-after=1", form: jsonOnly, alone: failsTwice, helped: rescuedBy2},
		{does: "reset-after=1", form: jsonOnly, alone: failsTwice, helped: rescuedBy2},
	}},
	{"31", []fault{ // The upstream stops sending in the middle.
		{does: "stall-after=4t;pace=5ms", form: streamOnly, every: true, tight: true,
			alone: breaksOff("timeout", 1, 0).leaving(), helped: rescued.with("recovered").leaving()},
		{does: "stall-after=1", form: streamOnly, tight: true, alone: tooLate, helped: rescued.leaving()},
		{does: "stall-after=1", form: jsonOnly, tight: true, alone: tooLate, helped: rescued.leaving()},
	}},
	{"32", []fault{ // The upstream sends single bytes with long pauses.
		{does: "slow-drip=60ms", tight: true, alone: tooLate, helped: rescued.leaving()},
	}},
	{"33", []fault{ // The upstream sends a line beyond every limit, or very many small ones.
		{does: "huge-line=17000000", form: streamOnly, alone: unusable, helped: rescued},
		{does: "huge-line=34000000", form: jsonOnly, alone: unusable, helped: rescued},
		{does: "huge-line=1000000", alone: well, helped: well},
		{prompt: "say 3000 words", alone: well.saying(words(manyWords)), helped: well.saying(words(manyWords))},
	}},
	{"34", frameForms()},
	{"35", []fault{ // The upstream reports impossible usage.
		{does: "usage=none", every: true, alone: well.with("usage_missing"), helped: well.with("usage_missing")},
		{does: "usage=negative", alone: well.with("usage_missing"), helped: well.with("usage_missing")},
		{does: "usage=huge", alone: well.with("usage_missing"), helped: well.with("usage_missing")},
		{does: "usage=string", alone: well.with("usage_missing"), helped: well.with("usage_missing")},
		{does: "usage=float", alone: well.with("usage_missing"), helped: well.with("usage_missing")},
		{does: "usage=1000000", alone: well.with("usage_implausible"), helped: well.with("usage_implausible")},
		{does: "usage=twice", every: true, alone: well, helped: well},
		{does: "usage=every", alone: well, helped: well},
	}},
	{"36", []fault{ // The upstream reports more usage than the hold covers, which is extended at the end.
		{does: "usage=390", max: 300, alone: well, helped: well},
	}},
	{"37", []fault{ // The upstream's stream has no end marker.
		{does: "endless;pace=1ms", max: 20, form: streamOnly, every: true, drive: (*faultGateway).isCutAtLength},
		{does: "ignore-max-tokens", prompt: "count to 30", max: 20, form: jsonOnly,
			alone: well.saying(counted(30)), helped: well.saying(counted(30))},
	}},
	{"38", []fault{ // The upstream sends more than an answer, or an answer that does not end.
		{does: "ok-then-extra", form: streamOnly, every: true, alone: well, helped: well},
		{does: "ok-then-extra", form: jsonOnly, alone: unusable, helped: rescued},
		{does: "keep-open", form: streamOnly, every: true, alone: well, helped: well},
	}},
	{"39", []fault{ // The upstream redirects.
		{does: "redirect", alone: unusable, helped: rescued},
		{does: "redirect=http://127.0.0.1:9/v1/chat/completions", alone: unusable, helped: rescued},
	}},
	{"40", []fault{ // The upstream's header is too large, or missing.
		{does: "headers=10000", alone: unusable, helped: rescued},
		{does: "header-bytes=1000000", alone: unusable, helped: rescued},
		{does: "bad-header", alone: unusable, helped: rescued},
	}},
	{"41", []fault{ // The upstream sends a compression bomb.
		{does: "gzip=50000000", alone: unusable, helped: rescued},
	}},
	{"42", []fault{ // The upstream's certificate is invalid.
		{at: "unknown", alone: fails("upstream", upstreamError, uncounted), helped: answers(uncounted, 1)},
		{at: "expired", alone: fails("upstream", upstreamError, uncounted), helped: answers(uncounted, 1)},
		{at: "misnamed", alone: fails("upstream", upstreamError, uncounted), helped: answers(uncounted, 1)},
		{at: "handshake", alone: fails("upstream", upstreamError, uncounted), helped: answers(uncounted, 1)},
	}},
	{"43", []fault{ // The upstream's name does not resolve.
		{at: "nowhere", alone: fails("unavailable", noProvider, uncounted), helped: answers(uncounted, 1)},
		{at: "two", alone: well, helped: well},
	}},
	{"44", []fault{ // The upstream closes idle connections when they are used again.
		{does: "close-idle", drive: (*faultGateway).comesAgain},
	}},
}

// breakerOfOne ejects a provider's model at its first failure.
const breakerOfOne = "    breaker: {failures: 1}\n"

// breakerOfFive ejects a provider's model after five failures, for a while that a test can wait for.
const breakerOfFive = "    breaker: {failures: 5, ejection: 700ms}\n"

// wrongCredential is one that the simulator refuses.
const wrongCredential = "    credential: ${" + wrongKeyVariable + "}\n"

// frameForms are streams of other forms that mean the same, and answers that come byte by byte.
func frameForms() (all []fault) {
	for _, form := range []string{"crlf", "cr", "bom", "comments", "multiline", "unknown", "split", "bom,crlf,comments,multiline,unknown", "cr,comments,split"} {
		all = append(all, fault{does: "frames=" + form, form: streamOnly, alone: well, helped: well})
	}
	const runes = "grüße 🎈 from a ünïcode wörld"
	return append(all, fault{
		does: "slow-drip=100us", prompt: "echo: " + runes, alone: well.saying(runes), helped: well.saying(runes),
	})
}

// words is what the simulator says to "say N words".
func words(n int) string {
	all := strings.Fields("the quick brown fox jumps over a lazy dog while seven wise owls watch from an old tree")
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(all[i%len(all)])
	}
	return b.String()
}

// counted is what the simulator says to "count to N".
func counted(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.Itoa(i + 1))
	}
	return b.String()
}

// isEjected lets an upstream fail five times. It is left alone for a while then, where there is another, and asked again
// after that. Without another it is asked all the same.
func (h *faultGateway) isEjected(t *testing.T, s mishap) {
	send := func() (harness.Response, faultRecord) {
		a := s.client.Send(t, h.Customer, s.body(faultPrompt))
		return a, h.latest(t, s, a.Header.Get("X-Request-Id"))
	}
	if !s.helps {
		for range 2 {
			a, r := send()
			if s.client.CheckError(t, a, "upstream", upstreamError, ""); r.Cost != 0 || r.Attempts != 2 {
				t.Errorf("%s: %+v", s.id, r)
			}
		}
		// The fifth failure opens the breaker. There is no other provider to ask.
		for range 2 {
			if a, r := send(); a.Status != 200 || !strings.Contains(a.Body, `"cost"`) || r.Provider != s.firstID() {
				t.Errorf("%s: %+v %s", s.id, r, a.Body)
			}
		}
		return
	}
	for range 3 {
		if a, r := send(); a.Status != 200 || r.Provider != s.spareID() || r.Cost == 0 || r.Input != s.inputTokens() {
			t.Errorf("%s: %+v %s", s.id, r, a.Body)
		}
	}
	if n := len(h.asked(t, s.firstID())); n != 5 {
		t.Errorf("%s: it was asked %d times until it was ejected", s.id, n)
	}
	probed := false
	harness.WaitUntil(t, "a probe goes to the upstream, and calls follow it", func() bool {
		a, r := send()
		if a.Status != 200 {
			t.Errorf("%s: %d %s", s.id, a.Status, a.Body)
		}
		again := r.Provider == s.firstID()
		done := probed && again
		probed = probed || again
		if !again {
			time.Sleep(50 * time.Millisecond)
		}
		return done
	})
}

// isCutAtLength lets an upstream send without end: the answer is ended at the maximum, and the upstream is left.
func (h *faultGateway) isCutAtLength(t *testing.T, s mishap) {
	a := s.client.Send(t, h.Customer, s.body(faultPrompt))
	p := s.client
	all := p.Frames(t, a.Body)
	p.CheckEnd(t, all)
	if stop, text := streamStop(t, p, all), p.Text(t, all); stop != stopWords["length"][p.Name] || !strings.HasPrefix(text, faultAnswer) {
		t.Errorf("%s: %q ends with %q", s.id, text, stop)
	}
	shown := showing{}
	for _, one := range harness.CostPattern.FindAllStringSubmatch(a.Body, -1) {
		shown.costs = append(shown.costs, harness.Nanos(t, one[1]))
	}
	h.recorded(t, s, well.with("length_enforced"), a.Header.Get("X-Request-Id"), shown)
	h.asks(t, s, well.leaving())
}

// comesAgain calls an upstream that closes each connection behind the answer: every call is answered, once and for one
// charge, although one may have to be sent again.
func (h *faultGateway) comesAgain(t *testing.T, s mishap) {
	const calls = 4
	for range calls {
		a := s.client.Send(t, h.Customer, s.body(faultPrompt))
		shown := h.sees(t, s, well, a)
		h.recorded(t, s, answers(uncounted, 0), a.Header.Get("X-Request-Id"), shown)
	}
	h.asks(t, s, answers(calls, 0))
}
