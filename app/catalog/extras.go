package catalog

import (
	"bytes"
	"fmt"

	"umg/app/jsontree"
	"umg/app/llm"
)

// Extra is something that a request may ask a provider to do beside answering, for which no price is set. It never goes
// upstream.
type Extra struct {
	Field string // where it stands in a request, and which values ask for it
	What  string // what it is
	Fate  string // what becomes of it

	// What contracts are made of: the place, in the words of dialects; whether every request with it is refused; the values that
	// do not ask for it; whether only some types or values at the place do; and what to do instead, as a sentence.
	At               string
	Refused, Limited bool
	Free             []string
	Advice           string
}

func (g *apiDocs) extras(style llm.Style) []Extra {
	if g.o.Extras == nil {
		return nil
	}
	return g.o.Extras(style)
}

// writeExtras lists what is not offered in a style.
func (g *apiDocs) writeExtras(text *bytes.Buffer, style llm.Style) {
	rows := g.extras(style)
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(text, "\n### What is not offered: %s\n\n| field | asks for | what becomes of it |\n| --- | --- | --- |\n", style)
	for _, row := range rows {
		fmt.Fprintf(text, "| %s | %s | %s |\n", cell(row.Field), cell(row.What), cell(row.Fate))
	}
	text.WriteString("\nWhat is left out is listed in `x-gateway-dropped`; what is refused is a 400 that names the field.\n")
}

// extrasTree is the same for programs: the fields, each with what becomes of it.
func extrasTree(rows []Extra) *jsontree.Value {
	t := jsontree.Object()
	for _, row := range rows {
		t.Set(row.Field, jsontree.Text(row.Fate))
	}
	return t
}
