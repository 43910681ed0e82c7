package emulator

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
)

// These are the framings of streams. The usual one is server-sent events.
const (
	framingEvents = "events" // This is the framing of AWS, with the name of each event.
	framingChunks = "chunks" // This is the framing of AWS, with the events of another wire in base64.
)

// startStream sends the head of a stream.
func (x *exchange) startStream() {
	contentType := "text/event-stream"
	if x.path.Framing != "" {
		contentType = "application/vnd.amazon.eventstream"
	}
	x.setHeaders(contentType)
	x.w.WriteHeader(http.StatusOK)
	if x.provider.Comment != "" {
		x.write([]byte(x.provider.Comment + "\n\n"))
	}
}

// send sends an event of a stream. An empty name is an event without one.
func (x *exchange) send(name string, event any) {
	text, err := json.Marshal(event)
	if err != nil {
		panic("emulator: an event cannot be written: " + err.Error())
	}
	switch x.path.Framing {
	case framingEvents:
		x.write(eventFrame(name, text))
	case framingChunks:
		chunk, _ := json.Marshal(object{"bytes": base64.StdEncoding.EncodeToString(text), "p": "abcdefghijklmnop"}) // Texts can be written.
		x.write(eventFrame("chunk", chunk))
	default:
		line := ""
		if name != "" {
			line = "event: " + name + "\n"
		}
		x.write([]byte(line + "data: " + string(text) + "\n\n"))
	}
}

// sendContent sends an event with content. The stream stalls or is cut after the first one when a rule says so.
func (x *exchange) sendContent(name string, event any) {
	x.send(name, event)
	if x.began || x.ended {
		return
	}
	x.began = true
	switch x.fault {
	case Stall:
		<-x.r.Context().Done()
		x.ended = true
	case Cut:
		x.cut()
	}
}

// sendLate sends the error of a provider that has too much to do, in the place of content.
func (x *exchange) sendLate() {
	body := os.Expand(x.provider.Errors["overloaded"].Body, func(name string) string { return escaped(x.word(name, nil)) })
	switch {
	case x.path.Framing != "":
		x.write(framed([]byte(body), ":exception-type", "serviceUnavailableException", ":message-type", "exception"))
	case x.path.Wire == "messages":
		if x.record.Provider != "anthropic" {
			body = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
		}
		x.write([]byte("event: error\ndata: " + body + "\n\n"))
	case x.path.Wire == "responses":
		failed := x.responsesHead("failed")
		failed["error"] = object{"code": "server_error", "message": "The model is overloaded."}
		x.send("response.created", object{"type": "response.created", "sequence_number": 0, "response": x.responsesHead("in_progress")})
		x.send("response.failed", object{"type": "response.failed", "sequence_number": 1, "response": failed})
	case x.path.Wire == "cohere":
		delta := object{"finish_reason": "ERROR", "error": "The model is overloaded."}
		x.send("message-end", object{"type": "message-end", "delta": delta})
		x.sendDone()
	default:
		x.write([]byte("data: " + body + "\n\n"))
	}
}

// sendDone sends the mark with which most chat streams end.
func (x *exchange) sendDone() { x.write([]byte("data: [DONE]\n\n")) }

// write sends bytes of a stream at once.
func (x *exchange) write(text []byte) {
	if x.ended {
		return
	}
	if _, err := x.w.Write(text); err != nil {
		x.ended = true
		return
	}
	_ = http.NewResponseController(x.w).Flush()
}
