package simulator

import (
	"crypto/subtle"
	"encoding/json"
	"hash/fnv"
	"net/http"
	"strconv"
	"time"
	"unicode/utf8"
)

const (
	// videoPromptRunesMax is the longest prompt of a video.
	videoPromptRunesMax = 32_000
	// callbackURLBytesMax is the longest address for callbacks.
	callbackURLBytesMax = 2048
)

// videoService is one protocol of making videos: its errors, its key and what it says to what it will not make.
type videoService struct {
	style   style
	key     func(h http.Header) string
	refusal func(g *guardrail) failure
}

// order is a video to make, as a service understood it.
type order struct {
	service       *videoService
	kind          string // Kind is the route of the request, and the id is valid on that route only.
	model         string // Model is the name in the request, directives included.
	text          string // Text is the prompt as sent.
	width, height int
	seconds       int
	picture       *picture
	external      string // External is the caller's own id.
	callback      string
	source        *render  // Source is the render to remix or extend.
	assets        []string // Assets are the ids of the input assets.
}

// enter begins a call of a video service and reports whether the caller has the key.
func (x *exchange) enter(s *videoService) bool {
	x.style = &s.style
	x.prompt = &prompt{}
	x.id = x.mint("req_")
	want := x.sim.options.Key
	if want == "" || subtle.ConstantTimeCompare([]byte(s.key(x.r.Header)), []byte(want)) == 1 {
		return true
	}
	x.fail(failure{status: http.StatusUnauthorized})
	return false
}

func (x *exchange) wrongMethod(allowed string) {
	x.w.Header().Set("Allow", allowed)
	x.fail(failure{status: http.StatusMethodNotAllowed})
}

// strikes chooses the fault of a call.
func (x *exchange) strikes(call *faultCall) bool {
	f, err := x.sim.faults.strike(call)
	if err != nil {
		x.fail(*badRequest("prompt", err.Error()))
		return false
	}
	x.fault, x.prompt = f, call.prompt
	x.entry.understood(call.prompt.model, f.spec)
	return true
}

// call is a call of a service, about a render or, with an empty one, about none.
func (x *exchange) call(name string, p *prompt, render string) *faultCall {
	return &faultCall{name: name, header: x.r.Header.Get("X-Simulate"), provider: x.provider, prompt: p, render: render}
}

// about chooses the fault of a call about a render, which may take the place of the answer. It reports whether the call goes on.
func (x *exchange) about(name string, r *render) bool {
	return x.strikes(x.call(name, r.prompt, r.id)) && x.proceeds()
}

// proceeds waits as the gate and the fault say. It reports false when something else took the place of the answer.
func (x *exchange) proceeds() bool {
	if x.sim.gate.pass(x.r.Context(), x.fault.hold, x.provider, x.prompt.model) != nil || !x.pause(x.fault.slowFirst) {
		return false
	}
	if act, ok := wholes[x.fault.whole]; ok {
		act(x)
		return false
	}
	if x.fault.gzip > 0 {
		x.bomb()
		return false
	}
	return true
}

// start makes a render of an order and answers, unless the fault or a guardrail is against it.
func (x *exchange) start(name string, o *order, answer func(r *render)) {
	p := newPrompt(o.model)
	p.addUser(o.text)
	p.finish()
	call := x.call(name, p, "")
	if !x.strikes(call) {
		return
	}
	late := x.fault.late
	if !late && !x.proceeds() {
		return
	}
	if g := guardAt(o.text, o.picture); g != nil {
		x.fail(o.service.refusal(g))
		return
	}
	r := x.newRender(o, p, x.sim.faults.shape(call, x.fault))
	if !x.sim.renders.add(r, r.created) {
		x.fail(failure{status: http.StatusBadRequest, message: "external_task_id '" + o.external + "' is already in use.",
			param: "external_task_id"})
		return
	}
	if late {
		x.sim.scheduleCallbacks(r)
		if x.proceeds() {
			answer(r)
		}
		return
	}
	answer(r)
	x.flush()
	x.sim.scheduleCallbacks(r)
}

// newRender gives an order an id, a duration and colours.
func (x *exchange) newRender(o *order, p *prompt, f *fault) *render {
	now := x.sim.options.Now()
	r := &render{order: *o, id: x.mint("video_"), provider: x.provider, base: x.base(f), prompt: p, fault: f,
		late: marked(o.text, lateGuardMark), created: now, takes: x.sim.options.Render}
	if o.service == &tasksService {
		r.id, r.result = x.digits(), x.digits()
	}
	r.picture = nil // The picture is large and is not needed again.
	if f.timed {
		r.takes = f.render
	}
	if o.source != nil {
		r.seed, r.generation, r.from = o.source.seed, o.source.generation+1, o.source.id
		r.source = nil // A chain of remixes would keep all of them in memory.
		return r
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(p.asked))
	if o.picture != nil {
		_, _ = h.Write(o.picture.data)
	}
	for _, id := range o.assets {
		_, _ = h.Write([]byte(id))
	}
	r.seed = h.Sum64()
	return r
}

// base is the address of this provider as the caller sees it, or the one that the fault gives.
func (x *exchange) base(f *fault) string {
	if f.files != "" {
		return f.files
	}
	scheme := "http://"
	if x.r.TLS != nil {
		scheme = "https://"
	}
	if x.provider == "" {
		return scheme + x.r.Host
	}
	return scheme + x.r.Host + "/" + x.provider
}

// fileAddress is where a file of a render is, for as long as its fault says.
func (r *render) fileAddress(path, query string, now time.Time) string {
	if r.fault.expiry > 0 {
		if query != "" {
			query += "&"
		}
		query += "expires=" + strconv.FormatInt(now.Add(r.fault.expiry).UnixMilli(), 10)
	}
	if query != "" {
		query = "?" + query
	}
	return r.base + path + query
}

// sendValue sends an answer, spoiled as the fault says.
func (x *exchange) sendValue(v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		x.fail(failure{status: http.StatusInternalServerError})
		return
	}
	x.sendJSON(func(b *buffer) { b.json(raw) })
}

// checkPrompt wants a prompt that is not empty and not too long.
func checkPrompt(text string) *failure {
	switch n := utf8.RuneCountInString(text); {
	case n == 0:
		return missing("prompt")
	case n > videoPromptRunesMax:
		return badRequest("prompt", "The prompt has "+strconv.Itoa(n)+" characters; at most "+strconv.Itoa(videoPromptRunesMax)+" are allowed.")
	}
	return nil
}

// bearer is the key of services that take one.
func bearer(h http.Header) string {
	const scheme = "Bearer "
	if v := h.Get("Authorization"); len(v) > len(scheme) && v[:len(scheme)] == scheme {
		return v[len(scheme):]
	}
	return ""
}
