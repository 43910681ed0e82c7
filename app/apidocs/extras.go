package apidocs

import (
	"bytes"
	"fmt"

	"umg/app/catalog"
	"umg/app/llm"
)

func (w *writer) extras(style llm.Style) []catalog.Extra {
	if w.o.Extras == nil {
		return nil
	}
	return w.o.Extras(style)
}

// writeExtras lists what is not offered in a style.
func (w *writer) writeExtras(text *bytes.Buffer, style llm.Style) {
	rows := w.extras(style)
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(text, "\n### What is not offered: %s\n\n| field | asks for | what becomes of it |\n| --- | --- | --- |\n", style)
	for _, row := range rows {
		fmt.Fprintf(text, "| %s | %s | %s |\n", cell(row.Field), cell(row.What), cell(row.Fate))
	}
	text.WriteString("\nWhat is left out is listed in `x-gateway-dropped`; what is refused is a 400 that names the field.\n")
}
