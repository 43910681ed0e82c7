package apidocs

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"umg/app/catalog"
	"umg/app/llm"
)

// extras returns what requests of a style may ask a provider to do beside answering: what a model offers of it, and the rest. A row of
// the rest that a more general one includes is left out.
func (w *writer) extras(m *catalog.Model, style llm.Style) (offered, others []catalog.Extra) {
	if w.o.Extras == nil {
		return nil, nil
	}
	rows, set := w.o.Extras(style), m.Extras(style)
	for i, row := range rows {
		switch {
		case set.Has(i):
			offered = append(offered, row)
		case !row.Offerable() || !slices.ContainsFunc(rows, func(other catalog.Extra) bool { return includes(&other, &row) }):
			others = append(others, row)
		}
	}
	return offered, others
}

// includes reports whether a row that no model offers covers what another one covers.
func includes(general, row *catalog.Extra) bool {
	above, isRest := strings.CutSuffix(general.At, "*")
	return !general.Offerable() && (general.At == row.At || isRest && strings.HasPrefix(row.At, above))
}

// writeExtras lists what a model offers beside answers in a style, and what is not offered.
func (w *writer) writeExtras(text *bytes.Buffer, m *catalog.Model, style llm.Style) {
	offered, others := w.extras(m, style)
	if len(offered) > 0 {
		fmt.Fprintf(text, "\n### What the provider does beside answering: %s\n\n| field | asks for | price |\n| --- | --- | --- |\n", style)
		for _, row := range offered {
			fmt.Fprintf(text, "| %s | %s | %s |\n", cell(row.Field), cell(row.What), cell(priceOfExtra(&row)))
		}
		text.WriteString("\nA dry run (`X-Dry-Run: 1`) lists the fees that a request may cause.\n")
	}
	if len(others) == 0 {
		return
	}
	fmt.Fprintf(text, "\n### What is not offered: %s\n\n| field | asks for | what becomes of it |\n| --- | --- | --- |\n", style)
	for _, row := range others {
		fmt.Fprintf(text, "| %s | %s | %s |\n", cell(row.Field), cell(row.What), cell(row.Fate))
	}
	text.WriteString("\nWhat is left out is listed in `x-gateway-dropped`; what is refused is a 400 that names the field.\n")
}

// priceOfExtra says which prices of the model an extra has.
func priceOfExtra(row *catalog.Extra) string {
	var parts []string
	for _, m := range row.Meters {
		parts = append(parts, strings.ReplaceAll(m.String(), "_", " "))
	}
	if terms := row.Terms.String(); terms != "" {
		parts = append(parts, "that of "+strings.ReplaceAll(terms, "_", " "))
	}
	return strings.Join(parts, ", ")
}
