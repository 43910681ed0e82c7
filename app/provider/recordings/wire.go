package recordings

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Wire is a protocol of providers. The names of those that the gateway speaks are the names of its styles.
type Wire string

// These are the wires. Clients of the gateway do not speak those after Native. It speaks Converse and Cohere to providers, and
// AWSStream is the stream of an answer in the messages style.
const (
	Chat          Wire = "chat"
	Messages      Wire = "messages"
	Responses     Wire = "responses"
	Native        Wire = "native"
	Converse      Wire = "converse"
	AWSStream     Wire = "aws event stream"
	Cohere        Wire = "cohere"
	Ollama        Wire = "ollama"
	Predictions   Wire = "predictions"
	Video         Wire = "video"
	Image         Wire = "image"
	Transcription Wire = "transcription"
	CountTokens   Wire = "count tokens"
	ModelList     Wire = "model list"
	OAuth         Wire = "oauth"
	Interactions  Wire = "interactions"
)

// Spoken reports whether the gateway speaks the wire to clients.
func (w Wire) Spoken() bool { return w == Chat || w == Messages || w == Responses || w == Native }

// addresses has parts of addresses with the wires behind them. The first part that an address has decides.
var addresses = []struct {
	part string
	wire Wire
}{
	{"/chat/completions", Chat}, {"/v1/messages", Messages}, {"publishers/anthropic", Messages}, {"/responses", Responses},
	{"/invoke-with-response-stream", AWSStream}, {"/converse-stream", Converse}, {"/converse", Converse},
	{"anthropic.claude", Messages}, {"/invoke", Converse}, {"/v2/chat", Cohere}, {"/api/chat", Ollama},
	{"/videos", Video}, {":predictLongRunning", Video}, {"/operations/", Video}, {"/v1beta/files/", Video},
	{":countTokens", CountTokens}, {"enerateContent", Native}, {"/v1/models/", Predictions}, {"/v1/models", ModelList},
	{"replicate", Predictions}, {"oauth2.", OAuth},
}

// samples has beginnings of names with the wires of the bodies below them, where a body does not tell its own wire.
var samples = []struct {
	name string
	wire Wire
}{
	{"cohere/", Cohere}, {"bedrock/converse", Converse}, {"fal/", Predictions}, {"elevenlabs/transcription", Transcription},
	{"mistral/mistral-transcription", Transcription}, {"openai/transcription", Transcription}, {"openai/image", Image},
	{"gemini/interactions", Interactions}, {"openai/chat-", Chat}, {"openai/responses-", Responses}, {"gemini/", Native}, {"vertex/", Native},
}

// wireAt returns the wire of a recording: by the address of its request, its name, or its body.
func (r *Recording) wireAt(address string) Wire {
	for _, a := range addresses {
		if strings.Contains(address, a.part) {
			return a.wire
		}
	}
	for _, s := range samples {
		if strings.HasPrefix(r.File, s.name) {
			return s.wire
		}
	}
	return r.wireOfBody()
}

// wireOfBody returns the wire of an answer by the members of its first document.
func (r *Recording) wireOfBody() Wire {
	body := r.Body
	if at := bytes.IndexByte(body, '{'); at >= 0 {
		body = body[at:]
	}
	var document struct {
		Type    string          `json:"type"`
		Object  string          `json:"object"`
		Choices json.RawMessage `json:"choices"`
	}
	if json.NewDecoder(bytes.NewReader(body)).Decode(&document) != nil {
		return ""
	}
	switch {
	case document.Choices != nil:
		return Chat
	case strings.HasPrefix(document.Type, "message"):
		return Messages
	case document.Object == "response" || strings.HasPrefix(document.Type, "response."):
		return Responses
	}
	return ""
}

// frames writes the lines of a file of payloads as the wire frames them in a stream.
func (w Wire) frames(lines []byte) (stream []byte) {
	end := "\n\n"
	if w == Native {
		end = "\r\n\r\n"
	}
	for line := range bytes.Lines(lines) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		var event struct {
			Type string `json:"type"`
		}
		if w != Chat && json.Unmarshal(line, &event) == nil && event.Type != "" {
			stream = append(stream, "event: "+event.Type+"\n"...)
		}
		stream = append(append(append(stream, "data: "...), line...), end...)
	}
	if w == Chat {
		stream = append(stream, "data: [DONE]"+end...)
	}
	return stream
}
