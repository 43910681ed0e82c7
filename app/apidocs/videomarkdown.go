package apidocs

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/jsontree"
	"umg/app/meter"
)

// These placeholders are for the defaults of a video model, and for the price of such a video.
const (
	sizePlaceholder    = "SIZE"
	secondsPlaceholder = "SECONDS"
	costPlaceholder    = "COST"
	pricePlaceholder   = "PRICE"
	cardPlaceholder    = "CARD"
)

// millisecondsPerSecond is the unit of meter.Seconds.
const millisecondsPerSecond = 1_000

// costOf returns the price of a whole video. It is zero when the rate card has no price, which the check of the file prevents.
func costOf(m *catalog.Model, size string, seconds int64) app.Amount {
	var usage meter.Counts
	usage[meter.Seconds] = seconds * millisecondsPerSecond
	card := m.CardFor(size)
	cost, err := card.Cost(usage, meter.Terms{})
	if err != nil {
		return 0
	}
	return cost
}

// defaults returns the default size and length of a video model. The size is empty for other models.
func defaults(m *catalog.Model) (size string, seconds int64) {
	if m.Kind != catalog.KindVideo || len(m.Sizes) == 0 || len(m.Seconds) == 0 {
		return "", 0
	}
	return m.Sizes[0], m.Seconds[0]
}

// videoExample replaces the placeholders of a video model in an embedded value.
func videoExample(m *catalog.Model, t *jsontree.Value) {
	size, seconds := defaults(m)
	switch {
	case size == "":
	case t.Text == sizePlaceholder:
		t.Text = size
	case t.Text == secondsPlaceholder:
		t.Text = strconv.FormatInt(seconds, 10)
	case t.Text == costPlaceholder:
		*t = *jsontree.Number(costOf(m, size, seconds).String())
	case t.Text == pricePlaceholder:
		*t = *jsontree.Number(costOf(m, size, 1).String())
	case t.Text == cardPlaceholder:
		t.Text = m.CardFor(size).ID
	}
}

// videoFacts writes the sizes, lengths and prices of a video model.
func videoFacts(m *catalog.Model, text *bytes.Buffer) {
	if size, _ := defaults(m); size == "" {
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
		fmt.Fprintf(text, "| %s | $%s |", size, costOf(m, size, 1))
		for _, n := range m.Seconds {
			fmt.Fprintf(text, " $%s |", costOf(m, size, n))
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
func (w *writer) writeVideo(text *bytes.Buffer, m *catalog.Model) {
	of := styleDocuments()[catalog.VideosStyle]
	path := of.GetString("path")
	fmt.Fprintf(text, "%s- Every path below is also served with `%s` in place of `%s`", everyVideoCall, of.GetString("other"), path)
	for _, alias := range w.aliasesOf(catalog.VideosStyle) {
		fmt.Fprintf(text, ", and with `%s`", alias)
	}
	text.WriteString(".\n")
	for _, op := range of.Get("operations").Items {
		fmt.Fprintf(text, "\n## %s %s\n\n%s. %s\n", strings.ToUpper(op.GetString("method")), path+op.GetString("path"),
			op.GetString("summary"), op.GetString("text"))
		lead := "\n"
		for _, p := range w.videoParameters(op) {
			if p.GetString("in") != "path" {
				fmt.Fprintf(text, "%s- %s `%s`: %s%s\n", lead, p.GetString("in"), p.GetString("name"), p.GetString("description"),
					schemaWords(p.Get("schema")))
				lead = ""
			}
		}
		w.writeVideoBodies(text, m, op)
	}
	w.writeVideoRest(text, m)
}

// schemaWords describes the schema of a parameter in brackets.
func schemaWords(s *jsontree.Value) string {
	fields := fieldWriter{}
	words := fields.allowed(s)
	if d := s.Get("default"); d != nil {
		words = append(words, "default `"+string(d.AppendTo(nil))+"`")
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// writeVideoBodies writes the body and the answers of an operation.
func (w *writer) writeVideoBodies(text *bytes.Buffer, m *catalog.Model, op *jsontree.Value) {
	of := styleDocuments()[catalog.VideosStyle]
	id := op.GetString("id")
	if id == "create" {
		fmt.Fprintf(text, "\n%s", w.fill(of.samples, m))
		if readsPictures(m) {
			fmt.Fprintf(text, "\n%s\n\n```sh\n%s```\n", of.GetString("picture"), w.fill(of.GetString("upload"), m))
		}
		if m.AssetsMax > 0 {
			fmt.Fprintf(text, "\n%s\n\n```sh\n%s```\n", of.GetString("assets"), w.fill(of.GetString("assembly"), m))
		}
	}
	if contract := videoContractOf(m, op); contract != nil {
		fmt.Fprintf(text, "\n### Fields of a request: %s\n\n", id)
		fields := fieldWriter{text: text, doc: jsontree.MustParse(contract.Schema())}
		fields.writeAll()
		fmt.Fprintf(text, "\n### Examples: %s\n", id)
		writeExamples(text, w.videoRequests(m, op))
	}
	show := func(title, name string) {
		fmt.Fprintf(text, "\n%s:\n\n```json\n%s\n```\n", title, w.example(of.Get(name), m).AppendTo(nil))
	}
	switch id {
	case "create":
		show("The answer", "answer")
		show("With `X-Dry-Run: 1`", "quote")
		if streams(m) {
			fmt.Fprintf(text, "\n%s\n\n```\n%s```\n", of.GetString("stream"), w.frames(m, catalog.VideosStyle))
		}
	case "get":
		show("Completed", "completed")
		show("Failed", "failed")
	case "list", "delete":
		show("The answer", op.GetString("answer"))
	}
}

// writeVideoRest writes the events, guardrails and errors.
func (w *writer) writeVideoRest(text *bytes.Buffer, m *catalog.Model) {
	of := styleDocuments()[catalog.VideosStyle]
	fmt.Fprintf(text, "\n## Events\n\n%s\n\n", of.GetString("webhooks"))
	for _, event := range of.Get("events").Items {
		fmt.Fprintf(text, "- `%s`: %s\n", event.GetString("type"), event.GetString("description"))
	}
	fmt.Fprintf(text, "\n```json\n%s\n```\n", w.example(of.Get("event"), m).AppendTo(nil))
	fmt.Fprintf(text, "\n## Guardrails\n\n%s\n\n## Errors\n\n%s\n\n", of.GetString("guardrails"), of.GetString("errors"))
	writeFaultTable(text, w.videoFaults(""))
	text.WriteString("\nWhat `error.code` of a failed job says; others are the provider's own:\n\n| code | when |\n| --- | --- |\n")
	for _, f := range of.Get("failures").Items {
		fmt.Fprintf(text, "| `%s` | %s |\n", f.GetString("code"), f.GetString("when"))
	}
}
