package apidocs

import (
	"slices"
	"strconv"
	"strings"

	"umg/app/catalog"
	"umg/app/jsonschema"
	"umg/app/jsontree"

	"github.com/go-json-experiment/json/jsontext"
)

// streams reports whether a create call of the model can stream the progress of its job.
func streams(m *catalog.Model) bool { return slices.Contains(m.Parameters, "stream") }

// readsPictures reports whether the model takes an image.
func readsPictures(m *catalog.Model) bool { return slices.Contains(m.InputModalities, "image") }

// videoContractOf returns the contract of the body of an operation; nil for none.
func videoContractOf(m *catalog.Model, op *jsontree.Value) *catalog.Contract {
	return map[string]*catalog.Contract{"request": m.VideoContract(), "remix": m.RemixContract()}[op.GetString("body")]
}

// videoRequests returns the examples of an operation that the contract of the model accepts.
func (w *writer) videoRequests(m *catalog.Model, op *jsontree.Value) []example {
	list := map[string]string{"request": "requests", "remix": "remixes"}[op.GetString("body")]
	return w.accepted(m, catalog.VideosStyle, list, videoContractOf(m, op))
}

// videoParameters returns the path, query and header parameters of an operation.
func (w *writer) videoParameters(op *jsontree.Value) []*jsontree.Value {
	var all []*jsontree.Value
	if strings.Contains(op.GetString("path"), "{video_id}") {
		all = append(all, jsontree.Object("name", "video_id", "in", "path", "required", true, "description", "The id of the job.",
			"schema", jsontree.Object("type", "string")))
	}
	all = append(all, op.GetItems("parameters")...)
	for _, h := range styleDocuments()[catalog.VideosStyle].Get("headers").Items {
		if slices.Contains(strings.Fields(h.GetString("on")), op.GetString("id")) {
			all = append(all, jsontree.Object("name", h.GetString("name"), "in", "header", "description", h.GetString("description"),
				"schema", h.Get("schema")))
		}
	}
	return all
}

// addVideo adds the operations of a video model and its events.
func (w *writer) addVideo(doc, paths, schemas *jsontree.Value, m *catalog.Model) {
	of := styleDocuments()[catalog.VideosStyle]
	w.addVideoSchemas(schemas, m)
	for _, op := range of.Get("operations").Items {
		path := of.GetString("path") + op.GetString("path")
		if paths.Get(path) == nil {
			paths.Set(path, jsontree.Object())
		}
		paths.Get(path).Set(op.GetString("method"), w.videoOperation(m, op))
	}
	// The other paths are not listed as paths, because the ids of operations must be unique in a document.
	info := doc.Get("info")
	also := " Every path is also served with " + of.GetString("other") + " in place of " + of.GetString("path") + "."
	info.Set("description", jsontree.Text(info.GetString("description")+also))
	hooks := jsontree.Object()
	for _, event := range of.Get("events").Items {
		example := w.example(of.Get("event"), m)
		example.Set("type", jsontree.Text(event.GetString("type")))
		body := jsontree.Object("schema", refTo("schemas", pascal(catalog.VideosStyle, "event")), "examples",
			jsontree.Object("event", jsontree.Object("value", example)))
		hooks.Set(event.GetString("type"), jsontree.Object("post", jsontree.Object(
			"operationId", strings.ReplaceAll(event.GetString("type"), ".", "_"),
			"summary", event.GetString("description"), "description", of.GetString("webhooks"),
			"requestBody", jsontree.Object("required", true, "content", jsontree.Object("application/json", body)),
			"responses", jsontree.Object("2XX", jsontree.Object("description", "The event has arrived and is not sent again.")))))
	}
	doc.Set("webhooks", hooks)
}

// addVideoSchemas adds the contracts, the form and the schemas of answers.
func (w *writer) addVideoSchemas(schemas *jsontree.Value, m *catalog.Model) {
	request := jsontree.MustParse(m.VideoContract().Schema())
	remix := jsontree.MustParse(m.RemixContract().Schema())
	request.Delete("$schema")
	remix.Delete("$schema")
	schemas.Set(pascal(catalog.VideosStyle, "request"), request)
	schemas.Set(pascal(catalog.VideosStyle, "form"), formOf(request))
	schemas.Set(pascal(catalog.VideosStyle, "remix"), remix)
	own := styleDocuments()[catalog.VideosStyle].Get("schemas")
	for i, name := range own.Names {
		s := own.Items[i].Clone()
		rename(s, catalog.VideosStyle)
		schemas.Set(pascal(catalog.VideosStyle, name), s)
	}
}

// formOf returns the schema of the multipart form of a request: strings instead of numbers and booleans, and the first frame as a file.
func formOf(request *jsontree.Value) *jsontree.Value {
	form := request.Clone()
	form.Set("title", jsontree.Text(form.GetString("title")+", as a form"))
	properties := form.Get("properties")
	for i, name := range properties.Names {
		p := properties.Items[i]
		if values := p.Get("enum"); values != nil {
			values.Items = slices.DeleteFunc(values.Items, func(v *jsontree.Value) bool {
				return v.Kind == jsontext.KindNumber || v.Kind == jsontext.KindNull
			})
		}
		if p.Get("type") != nil && p.GetString("type") == "" {
			p.Set("type", jsontree.Text("string"))
		}
		switch {
		case p.GetString(jsonschema.KeywordUnsupported) != "":
		case name == "stream":
			properties.Items[i] = jsontree.Object("enum", []string{"true", "false"}, "default", "false", "description", p.GetString("description"))
		case name == "asset_ids":
			p.Set("type", jsontree.Text("array"))
		case name == "metadata":
			p.Set("type", jsontree.Text("object"))
		case name == "input_reference":
			properties.Items[i] = jsontree.Object("type", "string", "format", "binary", "description", p.GetString("description"))
		}
	}
	for _, name := range slices.Clone(properties.Names) {
		if properties.Get(name).GetString(jsonschema.KeywordUnsupported) != "" {
			properties.Delete(name)
		}
	}
	return form
}

// videoOperation returns one operation in the form of OpenAPI.
func (w *writer) videoOperation(m *catalog.Model, op *jsontree.Value) *jsontree.Value {
	of := styleDocuments()[catalog.VideosStyle]
	id, description := op.GetString("id"), op.GetString("text")
	if id == "create" {
		if readsPictures(m) {
			description += "\n\n" + of.GetString("picture")
		}
		if m.AssetsMax > 0 {
			description += "\n\n" + of.GetString("assets")
		}
		description += "\n\n" + of.GetString("guardrails")
		if streams(m) {
			description += "\n\n" + of.GetString("stream")
		}
	}
	t := jsontree.Object("operationId", string(catalog.VideosStyle)+"_"+id, "summary", op.GetString("summary"), "description", description)
	if m.DeprecatedAt != nil && !m.DeprecatedAt.After(w.o.Now()) {
		t.Set("deprecated", jsontree.Bool(true))
	}
	if parameters := w.videoParameters(op); len(parameters) > 0 {
		t.Set("parameters", jsontree.Array(parameters...))
	}
	if videoContractOf(m, op) != nil {
		content := jsontree.Object("application/json", jsontree.Object(
			"schema", refTo("schemas", pascal(catalog.VideosStyle, op.GetString("body"))), "examples", examplesTree(w.videoRequests(m, op))))
		if form := op.GetString("form"); form != "" {
			body := jsontree.Object("schema", refTo("schemas", pascal(catalog.VideosStyle, form)))
			if readsPictures(m) {
				body.Set("encoding", jsontree.Object("input_reference", jsontree.Object("contentType", "image/jpeg, image/png, image/webp")))
			}
			content.Set("multipart/form-data", body)
		}
		t.Set("requestBody", jsontree.Object("required", true, "content", content))
	}
	t.Set("responses", w.videoResponses(m, op))
	return t
}

// videoContent are the media types of the files.
var videoContent = []string{"video/mp4", "image/webp", "image/jpeg"}

// videoResponses returns the answers and the errors of an operation.
func (w *writer) videoResponses(m *catalog.Model, op *jsontree.Value) *jsontree.Value {
	of := styleDocuments()[catalog.VideosStyle]
	headers := jsontree.Object()
	for _, name := range answerHeaders(m).Names {
		if name != "x-gateway-dropped" {
			headers.Set(name, refTo("headers", name))
		}
	}
	shown := func(schema string, examples ...string) *jsontree.Value {
		all := jsontree.Object()
		for _, name := range examples {
			all.Set(name, jsontree.Object("value", w.example(of.Get(name), m)))
		}
		return jsontree.Object("schema", refTo("schemas", pascal(catalog.VideosStyle, schema)), "examples", all)
	}
	content, said := jsontree.Object(), op.GetString("said")
	switch answer := op.GetString("answer"); answer {
	case "content":
		for _, mediaType := range videoContent {
			content.Set(mediaType, jsontree.Object("schema", jsontree.Object("type", "string", "format", "binary")))
		}
	case "video":
		examples := []string{"answer"}
		if op.GetString("id") == "get" {
			examples = append(examples, "completed", "failed")
		}
		content.Set("application/json", shown("video", examples...))
	default:
		content.Set("application/json", shown(answer, answer))
	}
	if op.GetString("body") != "" {
		said += " With X-Dry-Run, its price."
		either := content.Get("application/json")
		quote := refTo("schemas", pascal(catalog.VideosStyle, "quote"))
		either.Set("schema", jsontree.Object("anyOf", jsontree.Array(either.Get("schema"), quote)))
		either.Get("examples").Set("quote", jsontree.Object("value", w.example(of.Get("quote"), m)))
	}
	if op.GetString("body") != "" && streams(m) {
		content.Set("text/event-stream", jsontree.Object("schema", jsontree.Object("type", "string"), "examples",
			jsontree.Object("stream", jsontree.Object("value", w.frames(m, catalog.VideosStyle)))))
	}
	good := jsontree.Object("description", said, "headers", headers, "content", content)
	all := jsontree.Object("200", good)
	if op.GetString("answer") == "content" {
		part := good.Clone()
		part.Set("description", jsontree.Text("The part of the file that Range asks for."))
		all.Set("206", part)
		all.Set("304", jsontree.Object("description", "The file is the one that If-None-Match names."))
		all.Set("416", jsontree.Object("description", "`range_not_satisfiable`: the file has no such part.", "content",
			jsontree.Object("application/json", jsontree.Object("schema", refTo("schemas", pascal(catalog.VideosStyle, "error"))))))
	}
	addFaults(all, w.videoFaults(op.GetString("id")), refTo("schemas", pascal(catalog.VideosStyle, "error")))
	return all
}

// addFaults adds errors to the responses of an operation. Errors with the same status share a response.
func addFaults(responses *jsontree.Value, faults []faultExample, schema *jsontree.Value) {
	for _, f := range faults {
		status := strconv.Itoa(f.status)
		r := responses.Get(status)
		if r == nil {
			r = jsontree.Object("description", "", "content", jsontree.Object("application/json", jsontree.Object("schema", schema)))
			responses.Set(status, r)
		}
		r.Get("description").Text = strings.TrimSpace(r.GetString("description") + " " + f.when)
		if f.body == nil {
			continue
		}
		content := r.Get("content").Get("application/json")
		if content.Get("examples") == nil {
			content.Set("examples", jsontree.Object())
		}
		content.Get("examples").Set(f.code, jsontree.Object("value", jsontree.MustParse(f.body)))
	}
}
