// Package recordings has recorded answers of real providers, for tests. All returns them; a Recording is a handler that answers as its
// provider did.
package recordings

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
)

// root is the folder of the recordings.
const root = "testdata/providers"

//go:embed testdata/providers
var files embed.FS

const (
	contentType = "Content-Type"
	jsonType    = "application/json"
	eventStream = "text/event-stream"
	awsStream   = "application/vnd.amazon.eventstream"
)

// Recording is one answer of a provider.
type Recording struct {
	// File is the name below the folder of the recordings, such as openai/basic.json.
	File string
	// Provider is the folder of the file.
	Provider string
	// Provenance says whether a whole exchange was recorded, or a body was published as a sample.
	Provenance string
	Wire       Wire
	// Request is the body that the provider got. It is empty when it was not recorded.
	Request []byte
	// Streamed means that the caller asked for a stream.
	Streamed bool
	Status   int
	// Header has the headers of the answer, except those that describe one connection.
	Header http.Header
	Body   []byte
}

// entry is a row of index.json.
type entry struct {
	File       string `json:"file"`
	Kind       string `json:"kind"`
	Provenance string `json:"provenance"`
	URL        string `json:"url"`
}

// All returns the recordings in the order of index.json. The file with test vectors is no answer and is left out.
func All() ([]Recording, error) {
	text, err := files.ReadFile(path.Join(root, "index.json"))
	if err != nil {
		return nil, err
	}
	var rows []entry
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("recordings: index.json: %w", err)
	}
	var all []Recording
	for _, row := range rows {
		if row.Kind == "vectors" {
			continue
		}
		r, err := row.read()
		if err != nil {
			return nil, fmt.Errorf("recordings: %s: %w", row.File, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// read reads the file of a row.
func (e entry) read() (Recording, error) {
	r := Recording{File: e.File, Provider: path.Dir(e.File), Provenance: e.Provenance}
	text, err := files.ReadFile(path.Join(root, e.File))
	if err != nil {
		return r, err
	}
	switch {
	case e.Kind == "exchange":
		err = r.readExchange(text)
	case path.Ext(e.File) == ".httprr":
		e.URL, err = r.readTrace(text)
	default:
		r.readBody(text)
	}
	r.Wire = r.wireAt(e.URL)
	if strings.HasSuffix(e.File, ".chunks.txt") {
		r.Body = r.Wire.frames(text)
	}
	return r, err
}

// connectionHeaders describe one connection, or an encoding of the body that the recorder removed.
var connectionHeaders = []string{"Connection", "Content-Encoding", "Content-Length", "Host", "Keep-Alive", "Transfer-Encoding"}

func (r *Recording) setHeader(h http.Header) {
	for _, name := range connectionHeaders {
		h.Del(name)
	}
	r.Header = h
}

// readExchange reads an exchange: a request and its answer, as JSON.
func (r *Recording) readExchange(text []byte) error {
	var exchange struct {
		Request struct {
			URL  string `json:"url"`
			Body string `json:"body"`
		} `json:"request"`
		Response struct {
			Status  int               `json:"status"`
			Headers map[string]string `json:"headers"`
			Body    string            `json:"body"`
			Binary  string            `json:"body_base64"`
		} `json:"response"`
	}
	if err := json.Unmarshal(text, &exchange); err != nil {
		return err
	}
	header := http.Header{}
	for name, value := range exchange.Response.Headers {
		header.Set(name, value)
	}
	r.Request, r.Status, r.Body = []byte(exchange.Request.Body), exchange.Response.Status, []byte(exchange.Response.Body)
	r.setHeader(header)
	r.Streamed = strings.Contains(exchange.Request.URL, ":stream") || asksForStream(r.Request) || r.IsEventStream() ||
		r.Header.Get(contentType) == awsStream
	if exchange.Response.Binary == "" {
		return nil
	}
	var err error
	r.Body, err = base64.StdEncoding.DecodeString(exchange.Response.Binary)
	return err
}

func asksForStream(request []byte) bool {
	var members struct {
		Stream bool `json:"stream"`
	}
	return json.Unmarshal(request, &members) == nil && members.Stream
}

// readTrace reads a trace: a line with the sizes of a request and its answer, and both as HTTP/1.1 writes them.
func (r *Recording) readTrace(text []byte) (url string, err error) {
	var requestBytes, answerBytes int
	_, rest, _ := bytes.Cut(text, []byte("\n"))
	sizes, rest, _ := bytes.Cut(rest, []byte("\n"))
	if _, err := fmt.Sscan(string(sizes), &requestBytes, &answerBytes); err != nil {
		return "", err
	}
	if len(rest) < requestBytes+answerBytes {
		return "", errors.New("the trace is cut")
	}
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(rest[:requestBytes])))
	if err != nil {
		return "", err
	}
	if r.Request, err = io.ReadAll(request.Body); err != nil {
		return "", err
	}
	answer, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(rest[requestBytes:][:answerBytes])), request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if r.Body, err = io.ReadAll(answer.Body); err != nil {
		return "", err
	}
	r.Status, r.Streamed = answer.StatusCode, asksForStream(r.Request)
	r.setHeader(answer.Header)
	return request.URL.String(), nil
}

// readBody reads a body without its head. The head follows from the body: its status is that of an error in it.
func (r *Recording) readBody(text []byte) {
	r.Status, r.Body, r.Header = http.StatusOK, text, http.Header{}
	name := path.Base(r.File)
	if strings.HasSuffix(name, ".chunks.txt") || bytes.HasPrefix(bytes.TrimSpace(text), []byte("data:")) {
		r.Streamed = true
		r.Header.Set(contentType, eventStream)
		return
	}
	r.Streamed = strings.Contains(name, "streaming")
	r.Header.Set(contentType, jsonType)
	var failed struct {
		Error *struct {
			Code json.RawMessage `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(text, &failed) != nil || failed.Error == nil {
		return
	}
	if json.Unmarshal(failed.Error.Code, &r.Status) != nil || r.Status < http.StatusBadRequest {
		r.Status = http.StatusBadRequest
	}
}

// IsEventStream reports whether the answer is a stream of events.
func (r *Recording) IsEventStream() bool {
	return strings.HasPrefix(r.Header.Get(contentType), eventStream)
}
