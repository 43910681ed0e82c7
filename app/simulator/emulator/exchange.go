package emulator

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// object is a JSON object.
type object = map[string]any

// exchange is one request and its answer.
type exchange struct {
	e        *Emulator
	w        http.ResponseWriter
	r        *http.Request
	provider *provider
	path     *pathRule
	id       string
	vars     map[string]string
	body     []byte
	members  object
	question question
	fault    string
	began    bool // Began means that content of a stream was sent.
	ended    bool // Ended means that nothing more may be sent.
	record   *Record
}

// refusal is an error of the table, with the words that fill it.
type refusal struct {
	kind  string
	words map[string]string
}

// refuse makes a refusal with pairs of words and their values.
func refuse(kind string, words ...string) *refusal {
	r := &refusal{kind: kind, words: map[string]string{}}
	for i := 0; i+1 < len(words); i += 2 {
		r.words[words[i]] = words[i+1]
	}
	return r
}

// wire is a protocol of calls.
type wire struct {
	// read fills the question from the members of the request.
	read func(x *exchange) *refusal
	// whole is the answer in one piece.
	whole func(x *exchange, a *answer) object
	// stream sends the answer as a stream.
	stream func(x *exchange, a *answer)
}

var wires = map[string]*wire{
	"chat":      {read: (*exchange).readChat, whole: (*exchange).wholeChat, stream: (*exchange).streamChat},
	"responses": {read: (*exchange).readResponses, whole: (*exchange).wholeResponses, stream: (*exchange).streamResponses},
	"messages":  {read: (*exchange).readMessages, whole: (*exchange).wholeMessages, stream: (*exchange).streamMessages},
	"native":    {read: (*exchange).readNative, whole: (*exchange).wholeNative, stream: (*exchange).streamNative},
	"converse":  {read: (*exchange).readConverse, whole: (*exchange).wholeConverse, stream: (*exchange).streamConverse},
	"cohere":    {read: (*exchange).readCohere, whole: (*exchange).wholeCohere, stream: (*exchange).streamCohere},
}

// serve answers a request for a path below the name of the provider.
func (x *exchange) serve(path string) {
	if bad := x.understand(path); bad != nil {
		x.fail(bad)
		return
	}
	a := x.answer()
	x.record.Billed = a.usage
	switch {
	case x.question.stream && x.fault == Late:
		x.startStream()
		x.sendLate()
		x.record.Status, x.record.Refused, x.record.Billed = http.StatusOK, Late, Usage{}
	case x.fault == Late:
		x.record.Billed = Usage{}
		x.fail(refuse("overloaded"))
	case x.question.stream:
		x.startStream()
		wires[x.path.Wire].stream(x, a)
		x.record.Status = http.StatusOK
	case x.fault == Stall:
		<-x.r.Context().Done()
	case x.fault == Cut:
		x.cut()
	case x.fault == Broken:
		x.sendBroken(http.StatusOK, wires[x.path.Wire].whole(x, a))
	default:
		x.sendJSON(http.StatusOK, wires[x.path.Wire].whole(x, a))
	}
}

// understand finds the path, checks the credential, and reads the request.
func (x *exchange) understand(path string) *refusal {
	for _, rule := range x.provider.Paths {
		if vars, ok := rule.match(path); ok {
			x.path, x.vars = rule, vars
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, bodyBytesMax))
	x.body, x.record.Body = body, string(body)
	switch {
	case x.path == nil, x.r.Method != http.MethodPost, !x.hasQuery():
		return refuse("path", "method", x.r.Method, "path", path)
	case err != nil:
		return refuse("request", "message", "The body could not be read.")
	}
	x.record.Wire = x.path.Wire
	if bad := x.authenticate(); bad != nil {
		return bad
	}
	x.fault = x.e.faultOf(x.record.Provider, x.record.Path, body)
	if _, isError := x.provider.Errors[x.fault]; isError {
		return refuse(x.fault)
	}
	for name, values := range x.provider.Needs {
		if !slices.Contains(values, x.r.Header.Get(name)) {
			return refuse("request", "message", name+": header is required")
		}
	}
	if media, _, _ := strings.Cut(x.r.Header.Get("Content-Type"), ";"); media != "application/json" {
		return refuse("request", "message", "The content type must be application/json.")
	}
	if json.Unmarshal(body, &x.members) != nil || x.members == nil {
		return refuse("request", "message", "We could not parse the JSON body of your request.")
	}
	return x.readQuestion()
}

// hasQuery reports whether the address has the parameters of its path.
func (x *exchange) hasQuery() bool {
	for name, value := range x.path.Query {
		if x.r.URL.Query().Get(name) != value {
			return false
		}
	}
	return true
}

// readQuestion reads the members of the request.
func (x *exchange) readQuestion() *refusal {
	x.question.model = textOf(x.members["model"])
	if model, isInPath := x.vars["model"]; isInPath {
		if x.members["model"] != nil {
			return refuse("request", "message", "model: Extra inputs are not permitted")
		}
		x.question.model = model
	}
	for name, value := range x.path.Version {
		if textOf(x.members[name]) != value {
			return refuse("request", "message", name+": Field required")
		}
	}
	if x.path.Version == nil && x.members["anthropic_version"] != nil {
		return refuse("request", "message", "anthropic_version: Extra inputs are not permitted")
	}
	if asked, isMember := x.members["stream"].(bool); isMember && x.path.Stream == nil {
		x.question.stream = asked
	} else if x.path.Stream != nil {
		x.question.stream = *x.path.Stream
	}
	if bad := x.placeRefused(); bad != nil {
		return bad
	}
	reasoning, known := x.provider.Models[x.question.model]
	if !known {
		return refuse("model")
	}
	x.question.reasoning = reasoning
	if bad := wires[x.path.Wire].read(x); bad != nil {
		return bad
	}
	x.record.Images = x.question.images
	return nil
}

// The credential of Google may call models only in this project and location.
const (
	Project  = "emulated-project"
	Location = "europe-west4"
)

// placeRefused checks the project and the location in the path.
func (x *exchange) placeRefused() *refusal {
	if project, has := x.vars["project"]; has && project != Project {
		return refuse("project")
	}
	if location, has := x.vars["location"]; has && location != Location {
		return refuse("region")
	}
	return nil
}

// image counts an image in a form, url or data, or refuses it.
func (x *exchange) image(form string) *refusal {
	if !slices.Contains(x.provider.Images, form) {
		return refuse("request", "message", "Images in the form "+form+" are not supported.")
	}
	x.question.images++
	return nil
}

// imageAddress counts an image with an address, which may have its data.
func (x *exchange) imageAddress(address string) *refusal {
	if strings.HasPrefix(address, "data:image/") && strings.Contains(address, ";base64,") {
		return x.image("data")
	}
	return x.image("url")
}

// word returns the value of a placeholder in errors and headers.
func (x *exchange) word(name string, more map[string]string) string {
	if value, has := more[name]; has {
		return value
	}
	switch name {
	case "id":
		return x.id
	case "model":
		return x.question.model
	case "time":
		return x.e.now().UTC().Format(time.RFC3339)
	}
	return x.vars[name]
}

// fail sends an error of the table.
func (x *exchange) fail(bad *refusal) {
	a, known := x.provider.Errors[bad.kind]
	if !known {
		a = x.provider.Errors["request"]
		bad.words["message"] = "The request is refused: " + bad.kind
	}
	if x.question.model == "" {
		x.question.model = textOf(x.members["model"])
	}
	x.setHeaders("application/json")
	for name, value := range a.Headers {
		x.w.Header().Set(name, value)
	}
	x.record.Status, x.record.Refused = a.Status, bad.kind
	x.w.WriteHeader(a.Status)
	_, _ = io.WriteString(x.w, os.Expand(a.Body, func(name string) string { return escaped(x.word(name, bad.words)) }))
}

// escaped is a text as a part of a JSON text.
func escaped(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		return ""
	}
	return string(quoted[1 : len(quoted)-1])
}

// setHeaders sets the headers of each answer.
func (x *exchange) setHeaders(contentType string) {
	h := x.w.Header()
	for name, value := range x.provider.Headers {
		h.Set(name, os.Expand(value, func(name string) string { return x.word(name, nil) }))
	}
	h.Set("Content-Type", contentType)
	h.Set("Date", x.e.now().UTC().Format(http.TimeFormat))
}

// sendJSON sends an answer in one piece.
func (x *exchange) sendJSON(status int, body object) {
	text, err := json.Marshal(body)
	if err != nil {
		panic("emulator: an answer cannot be written: " + err.Error())
	}
	x.setHeaders("application/json")
	x.record.Status = status
	x.w.WriteHeader(status)
	_, _ = x.w.Write(text)
}

// cut ends the connection.
func (x *exchange) cut() {
	x.ended = true
	if conn, _, err := http.NewResponseController(x.w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// textOf returns a value that should be a text. The result is empty for any other value.
func textOf(v any) string {
	text, _ := v.(string)
	return text
}

// listOf returns a value that should be a list. The result is nil for any other value.
func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

// objectOf returns a value that should be an object. The result is nil for any other value.
func objectOf(v any) object {
	o, _ := v.(object)
	return o
}

// numberOf returns a value that should be a number. The result is zero for any other value.
func numberOf(v any) int64 {
	n, _ := v.(float64)
	return int64(n)
}
