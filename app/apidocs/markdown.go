package apidocs

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"umg/app/catalog"
	"umg/app/jsontree"
	"umg/app/llm"
)

// These placeholders are in the embedded files.
const (
	hostPlaceholder  = "https://YOUR-GATEWAY"
	modelPlaceholder = "MODEL"
)

//go:embed styles/*
var styleFiles embed.FS

// styleDocument is the part of the documents about a style that is the same for every model: its path, examples and answers.
type styleDocument struct {
	*jsontree.Value

	// samples is Markdown with code in several languages.
	samples string
}

// styleDocuments reads the embedded files once.
var styleDocuments = sync.OnceValue(func() map[llm.Style]styleDocument {
	all := map[llm.Style]styleDocument{}
	for _, style := range append(llm.Styles(), catalog.VideosStyle) {
		raw, jsonErr := styleFiles.ReadFile("styles/" + string(style) + ".json")
		samples, markdownErr := styleFiles.ReadFile("styles/" + string(style) + ".md")
		if err := errors.Join(jsonErr, markdownErr); err != nil {
			panic("apidocs: " + err.Error())
		}
		of := jsontree.MustParse(raw)
		if style != catalog.VideosStyle {
			headers := of.Get("headers")
			headers.Items = append(headers.Items, jsontree.MustParse([]byte(textHeaders)).Items...)
		}
		all[style] = styleDocument{of, string(samples)}
	}
	return all
})

// textHeaders are the headers of calls in every text style.
const textHeaders = `[
	{"name": "Idempotency-Key", ` +
	`"schema": {"type": "string", "minLength": 1, "maxLength": 255}, ` +
	`"description": "A name of your own for the call: a repetition within 24 hours gets the ` +
	`first answer again, and is neither served nor charged twice."},
	{"name": "X-Dry-Run", "schema": {"enum": ["1"]}, ` +
	`"description": "1 answers what the call may cost; no provider is asked and nothing is charged."}
]`

// writer writes the documents of one snapshot.
type writer struct {
	o       Options
	aliases []catalog.PathAlias
}

// base returns the address that examples call.
func (w *writer) base() string {
	if w.o.BaseURL == "" {
		return hostPlaceholder
	}
	return strings.TrimSuffix(w.o.BaseURL, "/")
}

// fill replaces the placeholders of the model and the address in a text.
func (w *writer) fill(s string, m *catalog.Model) string {
	pairs := []string{hostPlaceholder, w.base(), modelPlaceholder, m.ID}
	if size, seconds := defaults(m); size != "" {
		pairs = append(pairs, sizePlaceholder, size, secondsPlaceholder, strconv.FormatInt(seconds, 10))
	}
	return strings.NewReplacer(pairs...).Replace(s)
}

// example returns an embedded value with its placeholders replaced.
func (w *writer) example(t *jsontree.Value, m *catalog.Model) *jsontree.Value {
	t = t.Clone()
	var visit func(t *jsontree.Value)
	visit = func(t *jsontree.Value) {
		if t.Text == modelPlaceholder {
			t.Text = m.ID
		}
		videoExample(m, t)
		for _, item := range t.Items {
			visit(item)
		}
	}
	visit(t)
	return t
}

// example is a request in the documents.
type example struct {
	name, summary string
	body          *jsontree.Value
}

// accepted returns the examples of a list of the embedded document that a contract of the model accepts.
func (w *writer) accepted(m *catalog.Model, style llm.Style, list string, contract *catalog.Contract) (examples []example) {
	for _, r := range styleDocuments()[style].Get(list).Items {
		body := w.example(r.Get("body"), m)
		if contract.Check(body.AppendTo(nil)) == nil {
			examples = append(examples, example{r.GetString("name"), r.GetString("summary"), body})
		}
	}
	return examples
}

// requests returns the examples of a style that the contract of the model accepts.
func (w *writer) requests(m *catalog.Model, style llm.Style) []example {
	return w.accepted(m, style, "requests", contractOf(m, style))
}

// writeExamples writes examples as JSON, each with its summary.
func writeExamples(text *bytes.Buffer, examples []example) {
	for _, e := range examples {
		fmt.Fprintf(text, "\n%s:\n\n```json\n%s\n```\n", e.summary, e.body.AppendTo(nil))
	}
}

// examplesTree is the same for the OpenAPI document, by name.
func examplesTree(examples []example) *jsontree.Value {
	t := jsontree.Object()
	for _, e := range examples {
		t.Set(e.name, jsontree.Object("summary", e.summary, "value", e.body))
	}
	return t
}

// frames writes the example of a stream.
func (w *writer) frames(m *catalog.Model, style llm.Style) string {
	var b strings.Builder
	for _, f := range styleDocuments()[style].Get("frames").Items {
		if event := f.GetString("event"); event != "" {
			b.WriteString("event: " + event + "\n")
		}
		data := f.GetString("text")
		if v := f.Get("data"); v != nil {
			data = string(w.example(v, m).AppendTo(nil))
		}
		b.WriteString("data: " + data + "\n\n")
	}
	return b.String()
}

// aliasesOf returns the other paths of the style, sorted.
func (w *writer) aliasesOf(style llm.Style) []string {
	operation := styleDocuments()[style].GetString("operation")
	var paths []string
	for _, alias := range w.aliases {
		if alias.Operation == operation || alias.Operation == operation+".stream" {
			paths = append(paths, alias.Path)
		}
	}
	slices.Sort(paths)
	return paths
}

func (w *writer) writeMarkdown(m *catalog.Model) []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, "# %s\n\n%s\n\n", cell(m.Name), cell(m.Description))
	guideFacts(m, &text)
	if len(m.Served()) > 0 {
		text.WriteString(everyCall)
	}
	for _, style := range m.Served() {
		w.writeStyle(&text, m, style)
	}
	if m.ServesVideos() {
		w.writeVideo(&text, m)
	}
	return text.Bytes()
}

// everyCall is what all text styles have in common.
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
- What providers do beside answering, at prices of their own, is offered only where a table below says so: tools that they run,
  other service tiers, longer caches, files and answers that they keep. The rest is left out where the request makes sense without
  it, and refused where not.
- What was left out of a request or changed in it, for one of these reasons or because it was translated, is listed in
  x-gateway-dropped.
- retry-after says when another try makes sense, x-should-retry: false that none does, and x-error-code names the error.
`

func guideFacts(m *catalog.Model, text *bytes.Buffer) {
	fmt.Fprintf(text, "- Model: `%s`, by %s\n- Input: %s; output: %s\n", m.ID, cell(m.Owner),
		strings.Join(m.InputModalities, ", "), strings.Join(m.OutputModalities, ", "))
	if m.ContextTokens > 0 {
		fmt.Fprintf(text, "- Context: %d tokens; longest answer: %d tokens\n", m.ContextTokens, m.MaxOutputTokens)
	}
	for _, line := range m.PriceLines() {
		fmt.Fprintf(text, "- Price: %s\n", line)
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
	if version := ContractVersion(m); version != "" {
		fmt.Fprintf(text, "- Version of this contract: `%s`\n", version)
	}
	if lifecycle := lifecycleText(m); lifecycle != "" {
		fmt.Fprintf(text, "- %s\n", lifecycle)
	}
	if fallback := fallbackText(m); fallback != "" {
		fmt.Fprintf(text, "- Fallback: %s Send `%s: none` to be served by this model alone.\n", fallback, fallbackHeader)
	}
	if m.Notice != "" {
		fmt.Fprintf(text, "- Notice: %s\n", cell(m.Notice))
	}
	videoFacts(m, text)
}

// fallbackHeader is the header of a request that refuses fallback models.
const fallbackHeader = "X-Gateway-Fallback"

// fallbackText describes which models serve when no provider of this one answers, and at which price. It is empty for none.
func fallbackText(m *catalog.Model) string {
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

// lifecycleText describes when the model is shut down, and which model replaces it.
func lifecycleText(m *catalog.Model) string {
	var parts []string
	if m.DeprecatedAt != nil {
		parts = append(parts, "Deprecated from "+dayText(*m.DeprecatedAt))
	}
	if m.ShutdownAt != nil {
		parts = append(parts, "shut down on "+dayText(*m.ShutdownAt))
	}
	if m.Successor != "" {
		parts = append(parts, "use `"+m.Successor+"` instead")
	}
	return strings.Join(parts, "; ")
}

func (w *writer) writeStyle(text *bytes.Buffer, m *catalog.Model, style llm.Style) {
	of := styleDocuments()[style]
	fmt.Fprintf(text, "\n## POST %s\n\n%s.", of.GetString("path"), of.GetString("summary"))
	if paths := w.aliasesOf(style); len(paths) > 0 {
		fmt.Fprintf(text, " Also at `%s`.", strings.Join(paths, "`, `"))
	}
	for _, h := range of.Get("headers").Items {
		fmt.Fprintf(text, "\n\nHeader `%s`: %s", h.GetString("name"), h.GetString("description"))
	}
	fmt.Fprintf(text, "\n\n%s\n### Fields of a request: %s\n\n", w.fill(of.samples, m), style)
	losses := w.losses(m, style)
	fields := fieldWriter{text: text, doc: jsontree.MustParse(contractOf(m, style).Schema()), notes: lossNotes(losses)}
	fields.writeAll()
	fmt.Fprintf(text, "\n### Examples: %s\n", style)
	writeExamples(text, w.requests(m, style))
	fmt.Fprintf(text, "\n### Answers: %s\n\n```json\n%s\n```\n\n", style, w.example(of.Get("answer"), m).AppendTo(nil))
	fmt.Fprintf(text, "%s\n\n```\n%s```\n", of.GetString("stream"), w.frames(m, style))
	writeLosses(m, text, style, losses)
	w.writeExtras(text, m, style)
	fmt.Fprintf(text, "\n### Errors: %s\n\n%s\n\n", style, of.GetString("errors"))
	writeFaultTable(text, w.faultExamples(style, faults))
}

// writeLosses describes what happens to a call that is answered by a provider of another style.
func writeLosses(m *catalog.Model, text *bytes.Buffer, style llm.Style, losses []loss) {
	upstream := upstreamStyles(m)
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
		fmt.Fprintf(text, "| `%s` | %s |", l.field, l.feature)
		for _, outcome := range l.outcomes {
			fmt.Fprintf(text, " %s |", outcome)
		}
		text.WriteByte('\n')
	}
	text.WriteString("\nDropped fields are listed in `x-gateway-dropped`; refused ones are a 400 that names the field.\n")
}

// writeFaultTable writes a table of errors and one example.
func writeFaultTable(text *bytes.Buffer, all []faultExample) {
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
