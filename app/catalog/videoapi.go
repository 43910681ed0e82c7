package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// streams reports whether a job of the model can be watched in the call that makes it.
func (m *Model) streams() bool { return slices.Contains(m.Parameters, "stream") }

// readsPictures reports whether a picture may be given.
func (m *Model) readsPictures() bool { return slices.Contains(m.InputModalities, "image") }

// videoContractOf is what an operation takes as its body; nil when it takes none.
func (m *Model) videoContractOf(op *tree) *Contract {
	return map[string]*Contract{"request": m.video, "remix": m.remix}[op.word("body")]
}

// videoRequests are the examples of an operation that the model's contract accepts, by name.
func (g *apiDocs) videoRequests(m *Model, op *tree) (names, summaries []string, bodies []*tree) {
	list := map[string]string{"request": "requests", "remix": "remixes"}[op.word("body")]
	for _, r := range g.byStyle()[VideosStyle].get(list).items {
		body := g.example(r.get("body"), m)
		if m.videoContractOf(op).Check(body.append(nil)) == nil {
			names, summaries, bodies = append(names, r.word("name")), append(summaries, r.word("summary")), append(bodies, body)
		}
	}
	return names, summaries, bodies
}

// videoParameters are those of the path, the query and the headers of an operation.
func (g *apiDocs) videoParameters(op *tree) []*tree {
	var all []*tree
	if strings.Contains(op.word("path"), "{video_id}") {
		all = append(all, members("name", "video_id", "in", "path", "required", true, "description", "The id of the job.",
			"schema", members("type", "string")))
	}
	all = append(all, op.children("parameters")...)
	for _, h := range g.byStyle()[VideosStyle].get("headers").items {
		if slices.Contains(strings.Fields(h.word("on")), op.word("id")) {
			all = append(all, members("name", h.word("name"), "in", "header", "description", h.word("description"), "schema", h.get("schema")))
		}
	}
	return all
}

// addVideo adds the operations of a video model and its events.
func (g *apiDocs) addVideo(doc, paths, schemas *tree, m *Model) {
	of := g.byStyle()[VideosStyle]
	g.addVideoSchemas(schemas, m)
	for _, op := range of.get("operations").items {
		path := of.word("path") + op.word("path")
		if paths.get(path) == nil {
			paths.set(path, members())
		}
		paths.get(path).set(op.word("method"), g.videoOperation(m, op))
	}
	info := doc.get("info") // paths of their own would repeat the ids of operations, which must be unique in a document
	also := " Every path is also served with " + of.word("other") + " in place of " + of.word("path") + "."
	info.set("description", textTree(info.word("description")+also))
	hooks := members()
	for _, event := range of.get("events").items {
		example := g.example(of.get("event"), m)
		example.set("type", textTree(event.word("type")))
		body := members("schema", refTo("schemas", pascal(VideosStyle, "event")), "examples",
			members("event", members("value", example)))
		hooks.set(event.word("type"), members("post", members(
			"operationId", strings.ReplaceAll(event.word("type"), ".", "_"),
			"summary", event.word("description"), "description", of.word("webhooks"),
			"requestBody", members("required", true, "content", members("application/json", body)),
			"responses", members("2XX", members("description", "The event has arrived and is not sent again.")))))
	}
	doc.set("webhooks", hooks)
}

// addVideoSchemas adds the two contracts, the form, and what answers look like.
func (g *apiDocs) addVideoSchemas(schemas *tree, m *Model) {
	request := mustParse(m.video.Schema())
	remix := mustParse(m.remix.Schema())
	request.drop("$schema")
	remix.drop("$schema")
	schemas.set(pascal(VideosStyle, "request"), request)
	schemas.set(pascal(VideosStyle, "form"), formOf(request))
	schemas.set(pascal(VideosStyle, "remix"), remix)
	own := g.byStyle()[VideosStyle].get("schemas")
	for i, name := range own.names {
		s := own.items[i].clone()
		rename(s, VideosStyle)
		schemas.set(pascal(VideosStyle, name), s)
	}
}

// formOf is the contract as a form says it: texts in place of numbers and truths, and the first frame as a file.
func formOf(request *tree) *tree {
	form := request.clone()
	form.set("title", textTree(form.word("title")+", as a form"))
	properties := form.get("properties")
	for i, name := range properties.names {
		p := properties.items[i]
		if values := p.get("enum"); values != nil {
			values.items = slices.DeleteFunc(values.items, func(v *tree) bool {
				return v.kind == jsontext.KindNumber || v.kind == jsontext.KindNull
			})
		}
		if p.get("type") != nil && p.word("type") == "" {
			p.set("type", textTree("string"))
		}
		switch {
		case p.word(wordUnsupported) != "":
		case name == "stream":
			properties.items[i] = members("enum", []string{"true", "false"}, "default", "false", "description", p.word("description"))
		case name == "asset_ids":
			p.set("type", textTree("array"))
		case name == "metadata":
			p.set("type", textTree("object"))
		case name == "input_reference":
			properties.items[i] = members("type", "string", "format", "binary", "description", p.word("description"))
		}
	}
	for _, name := range slices.Clone(properties.names) {
		if properties.get(name).word(wordUnsupported) != "" {
			properties.drop(name)
		}
	}
	return form
}

// videoOperation is one operation as OpenAPI has it.
func (g *apiDocs) videoOperation(m *Model, op *tree) *tree {
	of := g.byStyle()[VideosStyle]
	id, description := op.word("id"), op.word("text")
	if id == "create" {
		if m.readsPictures() {
			description += "\n\n" + of.word("picture")
		}
		if m.AssetsMax > 0 {
			description += "\n\n" + of.word("assets")
		}
		description += "\n\n" + of.word("guardrails")
		if m.streams() {
			description += "\n\n" + of.word("stream")
		}
	}
	t := members("operationId", string(VideosStyle)+"_"+id, "summary", op.word("summary"), "description", description)
	if m.DeprecatedAt != nil && !m.DeprecatedAt.After(g.o.Now()) {
		t.set("deprecated", &tree{kind: jsontext.KindTrue})
	}
	if parameters := g.videoParameters(op); len(parameters) > 0 {
		t.set("parameters", arrayTree(parameters...))
	}
	if m.videoContractOf(op) != nil {
		examples := members()
		names, summaries, bodies := g.videoRequests(m, op)
		for i, name := range names {
			examples.set(name, members("summary", summaries[i], "value", bodies[i]))
		}
		content := members("application/json", members("schema", refTo("schemas", pascal(VideosStyle, op.word("body"))), "examples", examples))
		if form := op.word("form"); form != "" {
			body := members("schema", refTo("schemas", pascal(VideosStyle, form)))
			if m.readsPictures() {
				body.set("encoding", members("input_reference", members("contentType", "image/jpeg, image/png, image/webp")))
			}
			content.set("multipart/form-data", body)
		}
		t.set("requestBody", members("required", true, "content", content))
	}
	t.set("responses", g.videoResponses(m, op))
	return t
}

// videoContent are the media types of the files.
var videoContent = []string{"video/mp4", "image/webp", "image/jpeg"}

// videoResponses are the answers of an operation, and its errors.
func (g *apiDocs) videoResponses(m *Model, op *tree) *tree {
	of := g.byStyle()[VideosStyle]
	headers := members()
	for _, name := range answerHeaders(m).names {
		if name != "x-gateway-dropped" {
			headers.set(name, refTo("headers", name))
		}
	}
	shown := func(schema string, examples ...string) *tree {
		all := members()
		for _, name := range examples {
			all.set(name, members("value", g.example(of.get(name), m)))
		}
		return members("schema", refTo("schemas", pascal(VideosStyle, schema)), "examples", all)
	}
	content, said := members(), op.word("said")
	switch answer := op.word("answer"); answer {
	case "content":
		for _, mediaType := range videoContent {
			content.set(mediaType, members("schema", members("type", "string", "format", "binary")))
		}
	case "video":
		examples := []string{"answer"}
		if op.word("id") == "get" {
			examples = append(examples, "completed", "failed")
		}
		content.set("application/json", shown("video", examples...))
	default:
		content.set("application/json", shown(answer, answer))
	}
	if op.word("body") != "" {
		said += " With X-Dry-Run, its price."
		either := content.get("application/json")
		either.set("schema", members("anyOf", arrayTree(either.get("schema"), refTo("schemas", pascal(VideosStyle, "quote")))))
		either.get("examples").set("quote", members("value", g.example(of.get("quote"), m)))
	}
	if op.word("body") != "" && m.streams() {
		content.set("text/event-stream", members("schema", members("type", "string"), "examples",
			members("stream", members("value", g.frames(m, VideosStyle)))))
	}
	good := members("description", said, "headers", headers, "content", content)
	all := members("200", good)
	if op.word("answer") == "content" {
		part := good.clone()
		part.set("description", textTree("The part of the file that Range asks for."))
		all.set("206", part)
		all.set("304", members("description", "The file is the one that If-None-Match names."))
		all.set("416", members("description", "`range_not_satisfiable`: the file has no such part.", "content",
			members("application/json", members("schema", refTo("schemas", pascal(VideosStyle, "error"))))))
	}
	addFaults(all, g.videoFaults(op.word("id")), refTo("schemas", pascal(VideosStyle, "error")))
	return all
}

// addFaults adds errors to the responses of an operation, those of one status together.
func addFaults(responses *tree, faults []shownFault, schema *tree) {
	for _, f := range faults {
		status := strconv.Itoa(f.status)
		r := responses.get(status)
		if r == nil {
			r = members("description", "", "content", members("application/json", members("schema", schema)))
			responses.set(status, r)
		}
		r.get("description").text = strings.TrimSpace(r.word("description") + " " + f.when)
		if f.body == nil {
			continue
		}
		content := r.get("content").get("application/json")
		if content.get("examples") == nil {
			content.set("examples", members())
		}
		content.get("examples").set(f.code, members("value", mustParse(f.body)))
	}
}
