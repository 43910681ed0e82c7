package apidocs

import (
	"strings"

	"umg/app/catalog"
	"umg/app/jsonschema"
	"umg/app/jsontree"
	"umg/app/llm"
)

func refTo(part, name string) *jsontree.Value {
	return jsontree.Object("$ref", jsontree.Text("#/components/"+part+"/"+name))
}

// pascal joins a style and a name in pascal case: chat and tool_call become ChatToolCall.
func pascal(style llm.Style, name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(string(style)+"_"+name, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

func (w *writer) writeOpenAPI(m *catalog.Model) []byte {
	paths, schemas := jsontree.Object(), jsontree.Object()
	for _, style := range m.Served() {
		w.addSchemas(schemas, m, style)
		paths.Set(styleDocuments()[style].GetString("path"), jsontree.Object("post", w.operation(m, style)))
	}
	server := w.base()
	if w.o.BaseURL == "" {
		server = "/"
	}
	description := "Requests to " + m.ID + ". " + m.Description
	if lifecycle := lifecycleText(m); lifecycle != "" {
		description += " " + lifecycle + "."
	}
	if fallback := fallbackText(m); fallback != "" {
		description += " " + fallback
	}
	if lines := m.PriceLines(); len(lines) > 0 {
		description += " Prices: " + strings.Join(lines, "; ") + "."
	}
	doc := jsontree.Object(
		"openapi", "3.1.0",
		"info", jsontree.Object("title", m.Name, "version", ContractVersion(m), "description", description),
		"servers", jsontree.Array(jsontree.Object("url", server)),
		"security", jsontree.Array(jsontree.Object("key", []string{})),
		"paths", paths,
		"components", jsontree.Object("schemas", schemas, "headers", answerHeaders(m),
			"securitySchemes", jsontree.Object("key", jsontree.Object("type", "http", "scheme", "bearer"))),
	)
	if m.ServesVideos() {
		w.addVideo(doc, paths, schemas, m)
	}
	return doc.AppendTo(nil)
}

// addSchemas adds the contract of a style with its definitions, and the schemas of answers.
func (w *writer) addSchemas(schemas *jsontree.Value, m *catalog.Model, style llm.Style) {
	doc := jsontree.MustParse(contractOf(m, style).Schema())
	rename(doc, style)
	model := doc.Get("properties").Get("model")
	model.Delete("minLength")
	model.Set("const", jsontree.Text(m.ID))
	defs := doc.Get("$defs")
	doc.Delete("$defs")
	doc.Delete("$schema")
	schemas.Set(pascal(style, "request"), doc)
	if defs != nil {
		for i, name := range defs.Names {
			schemas.Set(pascal(style, name), defs.Items[i])
		}
	}
	own := styleDocuments()[style].Get("schemas")
	for i, name := range own.Names {
		schemas.Set(pascal(style, name+"_body"), own.Items[i].Clone())
	}
}

// rename changes references to the definitions of a contract into references to the components of the document.
func rename(t *jsontree.Value, style llm.Style) {
	for i, item := range t.Items {
		if t.Names != nil && t.Names[i] == "$ref" {
			item.Text = "#/components/schemas/" + pascal(style, strings.TrimPrefix(item.Text, jsonschema.RefPrefix))
			continue
		}
		rename(item, style)
	}
}

func (w *writer) operation(m *catalog.Model, style llm.Style) *jsontree.Value {
	of := styleDocuments()[style]
	description := of.GetString("stream") + "\n\n" + of.GetString("errors")
	if paths := w.aliasesOf(style); len(paths) > 0 {
		description += "\n\nAlso at " + strings.Join(paths, ", ") + "."
	}
	var parameters []*jsontree.Value
	for _, h := range of.Get("headers").Items {
		schema := h.Get("schema")
		if schema == nil {
			schema = jsontree.Object("type", "string", "enum", h.Get("enum"))
		}
		parameters = append(parameters, jsontree.Object("name", h.GetString("name"), "in", "header", "required", false,
			"description", h.GetString("description"), "schema", schema))
	}
	if len(m.Fallbacks) > 0 {
		parameters = append(parameters, jsontree.Object("name", fallbackHeader, "in", "header", "required", false,
			"description", "none lets no other model serve the call.", "schema", jsontree.Object("type", "string", "enum", []string{"none"})))
	}
	op := jsontree.Object("operationId", string(style), "summary", of.GetString("summary"), "description", description)
	if m.DeprecatedAt != nil && !m.DeprecatedAt.After(w.o.Now()) {
		op.Set("deprecated", jsontree.Bool(true))
	}
	if len(parameters) > 0 {
		op.Set("parameters", jsontree.Array(parameters...))
	}
	body := jsontree.Object("schema", refTo("schemas", pascal(style, "request")), "examples", examplesTree(w.requests(m, style)))
	op.Set("requestBody", jsontree.Object("required", true, "content", jsontree.Object("application/json", body)))
	op.Set("responses", w.responses(m, style))
	if losses := w.losses(m, style); len(losses) > 0 {
		op.Set("x-translation", translation(m, losses))
	}
	offered, others := w.extras(m, style)
	if len(offered) > 0 {
		prices := jsontree.Object()
		for _, row := range offered {
			prices.Set(row.Field, jsontree.Text(priceOfExtra(&row)))
		}
		op.Set("x-offered", prices)
	}
	if len(others) > 0 {
		fates := jsontree.Object()
		for _, row := range others {
			fates.Set(row.Field, jsontree.Text(row.Fate))
		}
		op.Set("x-not-offered", fates)
	}
	return op
}

// translation lists what happens to fields when a provider has another style.
func translation(m *catalog.Model, losses []loss) *jsontree.Value {
	t := jsontree.Object()
	for i, style := range upstreamStyles(m) {
		outcomes := jsontree.Object()
		for _, l := range losses {
			if l.outcomes[i] != catalog.Carried {
				outcomes.Set(l.field+" ("+l.feature+")", jsontree.Text(string(l.outcomes[i])))
			}
		}
		if len(outcomes.Names) > 0 {
			t.Set(string(style), outcomes)
		}
	}
	return t
}

func (w *writer) responses(m *catalog.Model, style llm.Style) *jsontree.Value {
	of := styleDocuments()[style]
	answer, failure := refTo("schemas", pascal(style, "answer_body")), refTo("schemas", pascal(style, "error_body"))
	good, said := answer, "The answer, or its events when stream is true."
	if style == llm.Chat {
		good = jsontree.Object("anyOf", jsontree.Array(answer, failure))
		said += " In the mode documented, failures come with this status, too."
	}
	headers := jsontree.Object()
	for _, name := range answerHeaders(m).Names {
		headers.Set(name, refTo("headers", name))
	}
	body := jsontree.Object("schema", good, "examples",
		jsontree.Object("answer", jsontree.Object("value", w.example(of.Get("answer"), m))))
	stream := jsontree.Object("schema", jsontree.Object("type", "string"), "examples",
		jsontree.Object("stream", jsontree.Object("value", w.frames(m, style))))
	all := jsontree.Object("200", jsontree.Object("description", said, "headers", headers, "content",
		jsontree.Object("application/json", body, "text/event-stream", stream)))
	addFaults(all, w.faultExamples(style, faults), failure)
	return all
}

// answerHeaders are the headers of answers that programs read.
func answerHeaders(m *catalog.Model) *jsontree.Value {
	text := jsontree.Object("type", "string")
	all := jsontree.Object(
		"x-request-id", jsontree.Object("description", "The id of the request, for questions about it.", "schema", text),
		"x-gateway-dropped", jsontree.Object("schema", text,
			"description", "The fields that were left out or changed: hints that the model does not take, fields that the provider's style "+
				"has nothing like, and what is not offered. A hint that was changed stands there with both values."),
	)
	if m.DeprecatedAt != nil {
		all.Set("deprecation", jsontree.Object("description", "When the model is deprecated (RFC 9745).", "schema", text))
	}
	if m.ShutdownAt != nil {
		all.Set("sunset", jsontree.Object("description", "When the model is shut down (RFC 8594).", "schema", text))
	}
	return all
}
