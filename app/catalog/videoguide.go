package catalog

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/jsontree"
	"umg/billing"
)

// The placeholders for what a video model renders: its defaults, and what such a video costs.
const (
	sizeWord    = "SIZE"
	secondsWord = "SECONDS"
	costWord    = "COST"
	priceWord   = "PRICE"
	cardWord    = "CARD"
)

// costOf is the price of a whole video; zero when the rate card cannot say, which the check of the file excludes.
func (m *Model) costOf(size string, seconds int64) app.Amount {
	var usage billing.Usage
	usage[billing.Seconds] = seconds * millisecondsPerSecond
	card := m.CardFor(size)
	cost, err := card.Cost(usage)
	if err != nil {
		return 0
	}
	return cost
}

// defaults are the size and the length of a video whose maker names none; empty for other models.
func (m *Model) defaults() (size string, seconds int64) {
	if m.Kind != KindVideo || len(m.Sizes) == 0 || len(m.Seconds) == 0 {
		return "", 0
	}
	return m.Sizes[0], m.Seconds[0]
}

// videoExample puts a video model's own values into a value of the guides.
func (m *Model) videoExample(t *jsontree.Value) {
	size, seconds := m.defaults()
	switch {
	case size == "":
	case t.Text == sizeWord:
		t.Text = size
	case t.Text == secondsWord:
		t.Text = strconv.FormatInt(seconds, 10)
	case t.Text == costWord:
		*t = *jsontree.Number(m.costOf(size, seconds).String())
	case t.Text == priceWord:
		*t = *jsontree.Number(m.costOf(size, 1).String())
	case t.Text == cardWord:
		t.Text = m.CardFor(size).ID
	}
}

// fillVideo does the same with a text.
func (m *Model) fillVideo(s string) string {
	size, seconds := m.defaults()
	if size == "" {
		return s
	}
	return strings.NewReplacer(sizeWord, size, secondsWord, strconv.FormatInt(seconds, 10)).Replace(s)
}

// videoFacts say what a video model renders and what it costs.
func (m *Model) videoFacts(text *bytes.Buffer) {
	if size, _ := m.defaults(); size == "" {
		return
	}
	lengths := make([]string, len(m.Seconds))
	for i, n := range m.Seconds {
		lengths[i] = strconv.FormatInt(n, 10)
	}
	fmt.Fprintf(text, "- Sizes: %s; seconds: %s; the first of each is the default\n", strings.Join(m.Sizes, ", "), strings.Join(lengths, ", "))
	if m.AssetsMax > 0 {
		fmt.Fprintf(text, "- Material assets in a call: up to %d\n", m.AssetsMax)
	}
	if len(m.RateCard.Rates) == 0 {
		return
	}
	fmt.Fprintf(text, "\n| size | a second | %s s |\n", strings.Join(lengths, " s | "))
	fmt.Fprintf(text, "| --- | --- |%s\n", strings.Repeat(" --- |", len(lengths)))
	for _, size := range m.Sizes {
		fmt.Fprintf(text, "| %s | $%s |", size, m.costOf(size, 1))
		for _, n := range m.Seconds {
			fmt.Fprintf(text, " $%s |", m.costOf(size, n))
		}
		text.WriteString("\n")
	}
}

// everyVideoCall is what all operations of videos have in common.
const everyVideoCall = `
## Every call

- Send the key as "Authorization: Bearer".
- Known fields are checked strictly: their type, their values, their spelling, and that none comes twice. Fields that
  are not listed here are ignored.
- Answers carry x-request-id; those that make a job also x-ratelimit-limit-requests, x-ratelimit-remaining-requests
  and x-ratelimit-reset-requests.
- retry-after says when another try makes sense, x-should-retry: false that none does, and x-error-code names the error.
`

// writeVideo explains every operation of a video model.
func (g *apiDocs) writeVideo(text *bytes.Buffer, m *Model) {
	of := g.byStyle()[VideosStyle]
	path := of.GetString("path")
	fmt.Fprintf(text, "%s- Every path below is also served with `%s` in place of `%s`", everyVideoCall, of.GetString("other"), path)
	for _, alias := range g.aliasesOf(VideosStyle) {
		fmt.Fprintf(text, ", and with `%s`", alias)
	}
	text.WriteString(".\n")
	for _, op := range of.Get("operations").Items {
		fmt.Fprintf(text, "\n## %s %s\n\n%s. %s\n", strings.ToUpper(op.GetString("method")), path+op.GetString("path"),
			op.GetString("summary"), op.GetString("text"))
		lead := "\n"
		for _, p := range g.videoParameters(op) {
			if p.GetString("in") != "path" {
				fmt.Fprintf(text, "%s- %s `%s`: %s%s\n", lead, p.GetString("in"), p.GetString("name"), p.GetString("description"),
					schemaWords(p.Get("schema")))
				lead = ""
			}
		}
		g.writeVideoBodies(text, m, op)
	}
	g.writeVideoRest(text, m)
}

// schemaWords say what a parameter may be, in brackets.
func schemaWords(s *jsontree.Value) string {
	w := fieldWriter{}
	words := w.allowed(s)
	if d := s.Get("default"); d != nil {
		words = append(words, "default `"+string(d.AppendTo(nil))+"`")
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// writeVideoBodies shows what an operation takes and answers.
func (g *apiDocs) writeVideoBodies(text *bytes.Buffer, m *Model, op *jsontree.Value) {
	of := g.byStyle()[VideosStyle]
	id := op.GetString("id")
	if id == "create" {
		fmt.Fprintf(text, "\n%s", g.fill(of.samples, m))
		if m.readsPictures() {
			fmt.Fprintf(text, "\n%s\n\n```sh\n%s```\n", of.GetString("picture"), g.fill(of.GetString("upload"), m))
		}
		if m.AssetsMax > 0 {
			fmt.Fprintf(text, "\n%s\n\n```sh\n%s```\n", of.GetString("assets"), g.fill(of.GetString("assembly"), m))
		}
	}
	if contract := m.videoContractOf(op); contract != nil {
		fmt.Fprintf(text, "\n### Fields of a request: %s\n\n", id)
		w := fieldWriter{text: text, doc: jsontree.MustParse(contract.Schema())}
		w.explain()
		fmt.Fprintf(text, "\n### Examples: %s\n", id)
		_, summaries, bodies := g.videoRequests(m, op)
		for i, body := range bodies {
			fmt.Fprintf(text, "\n%s:\n\n```json\n%s\n```\n", summaries[i], body.AppendTo(nil))
		}
	}
	show := func(title, name string) {
		fmt.Fprintf(text, "\n%s:\n\n```json\n%s\n```\n", title, g.example(of.Get(name), m).AppendTo(nil))
	}
	switch id {
	case "create":
		show("The answer", "answer")
		show("With `X-Dry-Run: 1`", "quote")
		if m.streams() {
			fmt.Fprintf(text, "\n%s\n\n```\n%s```\n", of.GetString("stream"), g.frames(m, VideosStyle))
		}
	case "get":
		show("Completed", "completed")
		show("Failed", "failed")
	case "list", "delete":
		show("The answer", op.GetString("answer"))
	}
}

// writeVideoRest tells of events, guardrails and errors.
func (g *apiDocs) writeVideoRest(text *bytes.Buffer, m *Model) {
	of := g.byStyle()[VideosStyle]
	fmt.Fprintf(text, "\n## Events\n\n%s\n\n", of.GetString("webhooks"))
	for _, event := range of.Get("events").Items {
		fmt.Fprintf(text, "- `%s`: %s\n", event.GetString("type"), event.GetString("description"))
	}
	fmt.Fprintf(text, "\n```json\n%s\n```\n", g.example(of.Get("event"), m).AppendTo(nil))
	fmt.Fprintf(text, "\n## Guardrails\n\n%s\n\n## Errors\n\n%s\n\n", of.GetString("guardrails"), of.GetString("errors"))
	writeFaultTable(text, g.videoFaults(""))
	text.WriteString("\nWhat `error.code` of a failed job says; others are the provider's own:\n\n| code | when |\n| --- | --- |\n")
	for _, f := range of.Get("failures").Items {
		fmt.Fprintf(text, "| `%s` | %s |\n", f.GetString("code"), f.GetString("when"))
	}
}
