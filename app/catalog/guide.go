package catalog

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"umg/app/jsontree"
	"umg/app/llm"
)

// The placeholders of the guides' own files.
const (
	hostWord  = "https://YOUR-GATEWAY"
	modelWord = "MODEL"
)

//go:embed guides/*
var guideFiles embed.FS

// guide is what there is to tell of a style whatever the model: where it is called, examples, answers.
type guide struct {
	*jsontree.Value

	samples string // code in several languages
}

// apiDocs makes the documents about models.
type apiDocs struct {
	o       Options
	aliases Aliases
	byStyle func() map[llm.Style]guide
}

// document is a text about a model, with its entity tag.
type document struct {
	body []byte
	tag  string
}

// loadGuides reads the guides' own files. They are part of the program, so a mistake in them is a mistake in it.
func loadGuides() map[llm.Style]guide {
	all := map[llm.Style]guide{}
	for _, style := range contractStyles() {
		raw, err := guideFiles.ReadFile("guides/" + string(style) + ".json")
		if err != nil {
			panic("catalog: " + err.Error())
		}
		samples, err := guideFiles.ReadFile("guides/" + string(style) + ".md")
		if err != nil {
			panic("catalog: " + err.Error())
		}
		of := jsontree.MustParse(raw)
		if style != VideosStyle {
			headers := of.Get("headers")
			headers.Items = append(headers.Items, jsontree.MustParse([]byte(textHeaders)).Items...)
		}
		all[style] = guide{of, string(samples)}
	}
	return all
}

// textHeaders are the headers that calls of every text style take beside those of the style.
const textHeaders = `[
	{"name": "Idempotency-Key", ` +
	`"schema": {"type": "string", "minLength": 1, "maxLength": 255}, ` +
	`"description": "A name of your own for the call: a repetition within 24 hours gets the ` +
	`first answer again, and is neither served nor charged twice."},
	{"name": "X-Dry-Run", "schema": {"enum": ["1"]}, ` +
	`"description": "1 answers what the call may cost; no provider is asked and nothing is charged."}
]`

// explain builds the model's documents when they are first requested, so that they do not delay the start.
func (g *apiDocs) explain(m *Model) {
	once := func(text func(*Model) []byte) func() document {
		return sync.OnceValue(func() document {
			body := text(m)
			return document{body, ETag(body)}
		})
	}
	m.markdown, m.openAPI = once(g.writeMarkdown), once(g.writeOpenAPI)
}

// Markdown is the model's contract for people: facts, prices, limits, examples and every field of a request. The caller
// must not change it.
func (m *Model) Markdown() []byte { return m.markdown().body }

// MarkdownTag is the entity tag of Markdown.
func (m *Model) MarkdownTag() string { return m.markdown().tag }

// OpenAPI is the model's contract for programs: an OpenAPI 3.1 document with the schemas that check requests. The
// caller must not change it.
func (m *Model) OpenAPI() []byte { return m.openAPI().body }

// OpenAPITag is the entity tag of OpenAPI.
func (m *Model) OpenAPITag() string { return m.openAPI().tag }

// ContractVersion changes whenever one of the model's contracts does.
func (m *Model) ContractVersion() string {
	var all []string
	for _, style := range m.served {
		all = append(all, m.contracts[style].hash)
	}
	if m.renders() {
		all = append(all, m.video.hash, m.remix.hash)
	}
	return strings.Join(all, "-")
}

// base is the address that examples call.
func (g *apiDocs) base() string {
	if g.o.BaseURL == "" {
		return hostWord
	}
	return strings.TrimSuffix(g.o.BaseURL, "/")
}

// fill puts a model and the address into a text of the guides.
func (g *apiDocs) fill(s string, m *Model) string {
	return m.fillVideo(strings.NewReplacer(hostWord, g.base(), modelWord, m.ID).Replace(s))
}

// example is a value of the guides with the model in it.
func (g *apiDocs) example(t *jsontree.Value, m *Model) *jsontree.Value {
	t = t.Clone()
	var visit func(t *jsontree.Value)
	visit = func(t *jsontree.Value) {
		if t.Text == modelWord {
			t.Text = m.ID
		}
		m.videoExample(t)
		for _, item := range t.Items {
			visit(item)
		}
	}
	visit(t)
	return t
}

// requests are the examples that the model's contract accepts, by name.
func (g *apiDocs) requests(m *Model, style llm.Style) (names, summaries []string, bodies []*jsontree.Value) {
	for _, r := range g.byStyle()[style].Get("requests").Items {
		body := g.example(r.Get("body"), m)
		if m.contracts[style].Check(body.AppendTo(nil)) == nil {
			names, summaries, bodies = append(names, r.GetString("name")), append(summaries, r.GetString("summary")), append(bodies, body)
		}
	}
	return names, summaries, bodies
}

// frames writes the example of a stream.
func (g *apiDocs) frames(m *Model, style llm.Style) string {
	var b strings.Builder
	for _, f := range g.byStyle()[style].Get("frames").Items {
		if event := f.GetString("event"); event != "" {
			b.WriteString("event: " + event + "\n")
		}
		data := f.GetString("text")
		if v := f.Get("data"); v != nil {
			data = string(g.example(v, m).AppendTo(nil))
		}
		b.WriteString("data: " + data + "\n\n")
	}
	return b.String()
}

// aliasesOf are other paths of the style, in order.
func (g *apiDocs) aliasesOf(style llm.Style) []string {
	operation := g.byStyle()[style].GetString("operation")
	var paths []string
	for _, path := range sortedKeys(g.aliases.Paths) {
		if name := g.aliases.Paths[path]; name == operation || name == operation+".stream" {
			paths = append(paths, path)
		}
	}
	return paths
}

func (g *apiDocs) writeMarkdown(m *Model) []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, "# %s\n\n%s\n\n", cell(m.Name), cell(m.Description))
	m.guideFacts(&text)
	if len(m.served) > 0 {
		text.WriteString(everyCall)
	}
	for _, style := range m.served {
		g.writeStyle(&text, m, style)
	}
	if m.renders() {
		g.writeVideo(&text, m)
	}
	return text.Bytes()
}

// everyCall is what all styles have in common.
const everyCall = `
## Every call

- Send the key as "Authorization: Bearer", and the body as JSON in UTF-8 with "Content-Type: application/json".
- Known fields are checked: their type, their range, their spelling, and that none comes twice.
- A hint that the style has and this model does not take is left out, or becomes the nearest value that the model takes. A strict
  key is refused instead. Each table below says which fields are such hints; all others are refused for every key.
- Fields that are not listed here go to a provider that speaks the style of the call, unless they ask for what is not offered. A
  translation leaves them out. They never steer the gateway.
- Answers carry x-request-id, and x-ratelimit-limit-…, x-ratelimit-remaining-… and x-ratelimit-reset-… for requests
  and tokens.
- What providers do beside answering, at prices of their own, is not offered: tools that they run, other service tiers, longer
  caches, files and answers that they keep. It is left out where the request makes sense without it, and refused where not.
- What was left out of a request or changed in it, for one of these reasons or because it was translated, is listed in
  x-gateway-dropped.
- retry-after says when another try makes sense, x-should-retry: false that none does, and x-error-code names the error.
`

func (m *Model) guideFacts(text *bytes.Buffer) {
	fmt.Fprintf(text, "- Model: `%s`, by %s\n- Input: %s; output: %s\n", m.ID, cell(m.Owner),
		strings.Join(m.InputModalities, ", "), strings.Join(m.OutputModalities, ", "))
	if m.ContextTokens > 0 {
		fmt.Fprintf(text, "- Context: %d tokens; longest answer: %d tokens\n", m.ContextTokens, m.MaxOutputTokens)
	}
	for _, rate := range m.RateCard.Rates {
		price, unit := priceOf(rate), strings.ReplaceAll(rate.Meter.String(), "_", " ")
		per := strconv.FormatInt(price.Per, 10) + " " + unit
		if price.Per == 1 {
			per = strings.TrimSuffix(unit, "s")
		}
		fmt.Fprintf(text, "- Price: $%s per %s\n", price.Amount, per)
	}
	var limits []string
	for _, l := range []struct {
		n    int64
		text string
	}{
		{m.Limits.RequestsPerMinute, "requests a minute"}, {m.Limits.TokensPerMinute, "tokens a minute"},
		{m.Limits.RequestsPerDay, "requests a day"}, {m.Limits.Concurrency, "calls at once"},
		{m.Limits.JobsPerDay, "jobs a day"}, {m.Limits.JobsRunning, "jobs at once"},
	} {
		if l.n > 0 {
			limits = append(limits, fmt.Sprintf("%d %s", l.n, l.text))
		}
	}
	if len(limits) > 0 {
		fmt.Fprintf(text, "- Limits of an account: %s\n", strings.Join(limits, ", "))
	}
	if version := m.ContractVersion(); version != "" {
		fmt.Fprintf(text, "- Version of this contract: `%s`\n", version)
	}
	if lifecycle := m.lifecycleText(); lifecycle != "" {
		fmt.Fprintf(text, "- %s\n", lifecycle)
	}
	if fallback := m.fallbackText(); fallback != "" {
		fmt.Fprintf(text, "- Fallback: %s Send `%s: none` to be served by this model alone.\n", fallback, fallbackHeader)
	}
	if m.Notice != "" {
		fmt.Fprintf(text, "- Notice: %s\n", cell(m.Notice))
	}
	m.videoFacts(text)
}

// fallbackHeader is the header of a request that refuses fallback models.
const fallbackHeader = "X-Gateway-Fallback"

// fallbackText says which models serve when no provider of this one answers, and at which price; empty for none.
func (m *Model) fallbackText() string {
	switch n := len(m.Fallbacks); n {
	case 0:
		return ""
	case 1:
		return "When no provider of this model answers, `" + m.Fallbacks[0] + "` serves instead, at the price of `" + m.Fallbacks[0] +
			"`. The answer names the model that served."
	default:
		return "When no provider of this model answers, `" + strings.Join(m.Fallbacks, "` or else `") +
			"` serves instead, at its own price. The answer names the model that served."
	}
}

// lifecycleText says when the model will go, and what comes after it.
func (m *Model) lifecycleText() string {
	var parts []string
	if m.DeprecatedAt != nil {
		parts = append(parts, "Deprecated from "+spelledDay(*m.DeprecatedAt))
	}
	if m.ShutdownAt != nil {
		parts = append(parts, "shut down on "+spelledDay(*m.ShutdownAt))
	}
	if m.Successor != "" {
		parts = append(parts, "use `"+m.Successor+"` instead")
	}
	return strings.Join(parts, "; ")
}

func (g *apiDocs) writeStyle(text *bytes.Buffer, m *Model, style llm.Style) {
	of := g.byStyle()[style]
	fmt.Fprintf(text, "\n## POST %s\n\n%s.", of.GetString("path"), of.GetString("summary"))
	if paths := g.aliasesOf(style); len(paths) > 0 {
		fmt.Fprintf(text, " Also at `%s`.", strings.Join(paths, "`, `"))
	}
	for _, h := range of.Get("headers").Items {
		fmt.Fprintf(text, "\n\nHeader `%s`: %s", h.GetString("name"), h.GetString("description"))
	}
	fmt.Fprintf(text, "\n\n%s\n### Fields of a request: %s\n\n", g.fill(of.samples, m), style)
	losses := g.losses(m, style)
	w := fieldWriter{text: text, doc: jsontree.MustParse(m.contracts[style].Schema()), notes: lost(losses)}
	w.explain()
	fmt.Fprintf(text, "\n### Examples: %s\n", style)
	_, summaries, bodies := g.requests(m, style)
	for i, body := range bodies {
		fmt.Fprintf(text, "\n%s:\n\n```json\n%s\n```\n", summaries[i], body.AppendTo(nil))
	}
	fmt.Fprintf(text, "\n### Answers: %s\n\n```json\n%s\n```\n\n", style, g.example(of.Get("answer"), m).AppendTo(nil))
	fmt.Fprintf(text, "%s\n\n```\n%s```\n", of.GetString("stream"), g.frames(m, style))
	m.writeLosses(text, style, losses)
	g.writeExtras(text, style)
	g.writeFaults(text, style)
}

// writeLosses says what becomes of a call that is answered by a provider of another style.
func (m *Model) writeLosses(text *bytes.Buffer, style llm.Style, losses []loss) {
	upstream := m.upstreamStyles()
	fmt.Fprintf(text, "\n### What is translated: %s\n\n", style)
	if !slices.ContainsFunc(upstream, func(s llm.Style) bool { return s != style }) {
		text.WriteString("Nothing: the providers of this model speak this style. Fields go on as they came, but for hints that the " +
			"model does not take and the fields of the next table.\n")
		return
	}
	names := make([]string, len(upstream))
	for i, s := range upstream {
		names[i] = string(s)
	}
	fmt.Fprintf(text, "The providers of this model speak these styles, tried in this order: %s. Where that is not the style of the "+
		"call, the call is translated. Fields that are not listed above, cache hints, service tiers and tools that only one vendor runs "+
		"are then dropped. ", strings.Join(names, ", "))
	if len(losses) == 0 {
		text.WriteString("\n")
		return
	}
	fmt.Fprintf(text, "All else is carried, except:\n\n| field | what it asks for |%s\n| --- | --- |%s\n",
		" to "+strings.Join(names, " | to ")+" |", strings.Repeat(" --- |", len(names)))
	for _, l := range losses {
		fmt.Fprintf(text, "| `%s` | %s | %s |\n", l.field, l.wish, strings.Join(l.fate, " | "))
	}
	text.WriteString("\nDropped fields are listed in `x-gateway-dropped`; refused ones are a 400 that names the field.\n")
}

func (g *apiDocs) writeFaults(text *bytes.Buffer, style llm.Style) {
	fmt.Fprintf(text, "\n### Errors: %s\n\n%s\n\n", style, g.byStyle()[style].GetString("errors"))
	writeFaultTable(text, g.faults(style))
}

// writeFaultTable lists faults, and shows one of them as it is answered.
func writeFaultTable(text *bytes.Buffer, all []shownFault) {
	text.WriteString("| status | code | when | again? |\n| --- | --- | --- | --- |\n")
	for _, f := range all {
		again := "no"
		if f.again {
			again = "yes"
		}
		fmt.Fprintf(text, "| %d | `%s` | %s | %s |\n", f.status, f.code, f.when, again)
	}
	if body := all[1].body; body != nil {
		fmt.Fprintf(text, "\n```json\n%s\n```\n", body)
	}
}
