package catalog

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app/llm"
)

func refTo(part, name string) *tree {
	return members("$ref", textTree("#/components/"+part+"/"+name))
}

// pascal spells chat and tool_call as ChatToolCall.
func pascal(style llm.Style, name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(string(style)+"_"+name, "_") {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

func (g *apiDocs) writeOpenAPI(m *Model) []byte {
	paths, schemas := members(), members()
	for _, style := range m.served {
		g.addSchemas(schemas, m, style)
		paths.set(g.byStyle()[style].word("path"), members("post", g.operation(m, style)))
	}
	server := g.base()
	if g.o.BaseURL == "" {
		server = "/"
	}
	description := "Requests to " + m.ID + ". " + m.Description
	if lifecycle := m.lifecycleText(); lifecycle != "" {
		description += " " + lifecycle + "."
	}
	if fallback := m.fallbackText(); fallback != "" {
		description += " " + fallback
	}
	doc := members(
		"openapi", "3.1.0",
		"info", members("title", m.Name, "version", m.ContractVersion(), "description", description),
		"servers", arrayTree(members("url", server)),
		"security", arrayTree(members("key", []string{})),
		"paths", paths,
		"components", members("schemas", schemas, "headers", answerHeaders(m),
			"securitySchemes", members("key", members("type", "http", "scheme", "bearer"))),
	)
	if m.renders() {
		g.addVideo(doc, paths, schemas, m)
	}
	return doc.append(nil)
}

// addSchemas adds the contract of a style with its definitions, and what answers look like.
func (g *apiDocs) addSchemas(schemas *tree, m *Model, style llm.Style) {
	doc := mustParse(m.contracts[style].Schema())
	rename(doc, style)
	model := doc.get("properties").get("model")
	model.drop("minLength")
	model.set("const", textTree(m.ID))
	defs := doc.get("$defs")
	doc.drop("$defs")
	doc.drop("$schema")
	schemas.set(pascal(style, "request"), doc)
	if defs != nil {
		for i, name := range defs.names {
			schemas.set(pascal(style, name), defs.items[i])
		}
	}
	own := g.byStyle()[style].get("schemas")
	for i, name := range own.names {
		schemas.set(pascal(style, name+"_body"), own.items[i].clone())
	}
}

// rename makes references to definitions of a style's contract lead into the document.
func rename(t *tree, style llm.Style) {
	for i, item := range t.items {
		if t.names != nil && t.names[i] == "$ref" {
			item.text = "#/components/schemas/" + pascal(style, strings.TrimPrefix(item.text, refPrefix))
			continue
		}
		rename(item, style)
	}
}

func (g *apiDocs) operation(m *Model, style llm.Style) *tree {
	of := g.byStyle()[style]
	names, summaries, bodies := g.requests(m, style)
	examples := members()
	for i, name := range names {
		examples.set(name, members("summary", summaries[i], "value", bodies[i]))
	}
	description := of.word("stream") + "\n\n" + of.word("errors")
	if paths := g.aliasesOf(style); len(paths) > 0 {
		description += "\n\nAlso at " + strings.Join(paths, ", ") + "."
	}
	var parameters []*tree
	for _, h := range of.get("headers").items {
		schema := h.get("schema")
		if schema == nil {
			schema = members("type", "string", "enum", h.get("enum"))
		}
		parameters = append(parameters, members("name", h.word("name"), "in", "header", "required", false,
			"description", h.word("description"), "schema", schema))
	}
	if len(m.Fallbacks) > 0 {
		parameters = append(parameters, members("name", fallbackHeader, "in", "header", "required", false,
			"description", "none lets no other model serve the call.", "schema", members("type", "string", "enum", []string{"none"})))
	}
	op := members("operationId", string(style), "summary", of.word("summary"), "description", description)
	if m.DeprecatedAt != nil && !m.DeprecatedAt.After(g.o.Now()) {
		op.set("deprecated", &tree{kind: jsontext.KindTrue})
	}
	if len(parameters) > 0 {
		op.set("parameters", arrayTree(parameters...))
	}
	op.set("requestBody", members("required", true, "content", members("application/json",
		members("schema", refTo("schemas", pascal(style, "request")), "examples", examples))))
	op.set("responses", g.responses(m, style))
	if losses := g.losses(m, style); len(losses) > 0 {
		op.set("x-translation", translation(m, losses))
	}
	if rows := g.extras(style); len(rows) > 0 {
		op.set("x-not-offered", extrasTree(rows))
	}
	return op
}

// translation says what becomes of fields when a provider speaks another style.
func translation(m *Model, losses []loss) *tree {
	t := members()
	for i, style := range m.upstreamStyles() {
		fates := members()
		for _, l := range losses {
			if l.fate[i] != fateCarried {
				fates.set(l.field+" ("+l.wish+")", textTree(l.fate[i]))
			}
		}
		if len(fates.names) > 0 {
			t.set(string(style), fates)
		}
	}
	return t
}

func (g *apiDocs) responses(m *Model, style llm.Style) *tree {
	of := g.byStyle()[style]
	answer, failure := refTo("schemas", pascal(style, "answer_body")), refTo("schemas", pascal(style, "error_body"))
	good, said := answer, "The answer, or its events when stream is true."
	if style == llm.Chat {
		good, said = members("anyOf", arrayTree(answer, failure)), said+" In the mode documented, failures come with this status, too."
	}
	headers := members()
	for _, name := range answerHeaders(m).names {
		headers.set(name, refTo("headers", name))
	}
	all := members("200", members("description", said, "headers", headers, "content", members(
		"application/json", members("schema", good, "examples", members("answer", members("value", g.example(of.get("answer"), m)))),
		"text/event-stream", members("schema", members("type", "string"), "examples",
			members("stream", members("value", g.frames(m, style)))),
	)))
	addFaults(all, g.faults(style), failure)
	return all
}

// answerHeaders are the headers of answers that programs read.
func answerHeaders(m *Model) *tree {
	text := members("type", "string")
	all := members(
		"x-request-id", members("description", "The id of the request, for questions about it.", "schema", text),
		"x-gateway-dropped", members("schema", text,
			"description", "The fields that were left out or changed: hints that the model does not take, fields that the provider's style "+
				"has nothing like, and what is not offered. A hint that was changed stands there with both values."),
	)
	if m.DeprecatedAt != nil {
		all.set("deprecation", members("description", "When the model is deprecated (RFC 9745).", "schema", text))
	}
	if m.ShutdownAt != nil {
		all.set("sunset", members("description", "When the model is shut down (RFC 8594).", "schema", text))
	}
	return all
}
