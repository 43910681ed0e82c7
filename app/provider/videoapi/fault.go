package videoapi

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"umg/app"
	"umg/app/provider"
)

// ContentRefused is the code of the error when the upstream's guardrails refuse a request.
const ContentRefused = "content_policy_violation"

const (
	messageBytesMax = 512
	refusedBytesMax = 64 << 10 // This bounds what is read of an error body.

	// statusModerated is the status that stands for a refusal by guardrails in the tables.
	statusModerated = http.StatusUnavailableForLegalReasons
)

var (
	errStyle  = errors.New("videoapi: the style of the route makes no videos")
	errAssets = errors.New("videoapi: the style of the route has no words for material assets")
	errShape  = errors.New("videoapi: the answer is not of the form of its style")
)

// failureMessages has the messages of failed videos, when the upstream has none.
var failureMessages = map[string]string{
	Moderated: "The upstream provider's content policy does not allow this video.",
	Broken:    "The upstream provider could not make this video.",
	Cancelled: "The video was cancelled.",
}

// moderationCodes are the codes that guardrails use, in any style and with any status.
var moderationCodes = map[string]int{
	"moderation_blocked": statusModerated, "content_policy_violation": statusModerated, "content_policy": statusModerated,
	"content_filter": statusModerated, "sentinel_block": statusModerated, "safety_violation": statusModerated,
	"responsible_ai_policy_violation": statusModerated,
}

// moderationPhrases are texts of refusals by guardrails without a code. All texts of a row are in the message.
var moderationPhrases = [][]string{
	{"moderation"},
	{"guardrail"},
	{"content policy"},
	{"content security"},
	{"risk control"},
	{"sensitive words"},
	{"sensitive information"},
	{"responsible ai"},
	{"usage guidelines"},
	{"usage policies"},
	{"prohibited use"},
	{"prohibited content"},
	{"safety system"},
	{"safety filter"},
	{"safety polic"},
	{"safety guidelines"},
	{"violat", "polic"},
	{"violat", "guidelines"},
	{"violat", "safety"},
	{"blocked", "safety"},
}

// cancelCodes are the codes of cancelled tasks.
var cancelCodes = []string{"1", "cancelled", "canceled", "CANCELLED", "generation_cancelled"}

func isModeration(message string) bool {
	message = strings.ToLower(message)
	return slices.ContainsFunc(moderationPhrases, func(row []string) bool {
		return !slices.ContainsFunc(row, func(part string) bool { return !strings.Contains(message, part) })
	})
}

// failureCode returns the code of a failed video.
func failureCode(codes map[string]int, message string, said ...string) string {
	for _, code := range said {
		switch {
		case code == "":
		case moderationCodes[code] == statusModerated, codes[code] == statusModerated:
			return Moderated
		case slices.Contains(cancelCodes, code):
			return Cancelled
		}
	}
	if isModeration(message) {
		return Moderated
	}
	return Broken
}

// errorBody has the members of an error body, from the usual places of all styles.
type errorBody struct {
	isError bool // The body is an error even with a successful status.
	codes   []string
	message string
}

func parseErrorBody(raw []byte) errorBody {
	top, err := parse(raw)
	if err != nil {
		return errorBody{}
	}
	inner := top.object("error")
	c := errorBody{message: inner.text("message")}
	for _, one := range []string{top.text("error"), top.text("message"), top.text("detail")} {
		if c.message == "" {
			c.message = one
		}
	}
	outer := top.text("code")
	c.codes = append(c.codes, outer, inner.text("code"), inner.text("status"), inner.text("type"))
	for _, detail := range inner.list("details") {
		c.codes = append(c.codes, detail.text("reason"))
	}
	named := top.text("id") != "" || top.text("name") != ""
	c.isError = !named && (inner != nil || top.text("error") != "" || outer != "" && outer != "0")
	return c
}

// refusal returns the fault of an error answer. The tables of the style take precedence over the status.
func (s *style) refusal(reply *provider.Reply, raw []byte) *provider.Fault {
	parsed := parseErrorBody(raw)
	status := 0
	for _, code := range parsed.codes {
		if status = max(moderationCodes[code], s.codes[code]); status != 0 {
			break
		}
	}
	if status == 0 && reply.Status/100 != 2 {
		status = s.statusOfMessage(reply.Status, parsed.message)
	}
	var f *provider.Fault
	if status != 0 {
		f = reply.StatusFault(status, raw)
	} else {
		f = reply.BodyFault(raw)
	}
	if f.Status != statusModerated {
		f.Err.Message = app.TruncateBytes(f.Err.Message, messageBytesMax)
		return f
	}
	message := "The upstream provider's content policy refused the request."
	if public := reply.Redact(parsed.message); public != "" {
		message = app.TruncateBytes("The upstream provider's content policy refused the request: "+public, messageBytesMax)
	}
	f.Retry = provider.Nowhere
	f.Err = app.Errorf(app.Invalid, ContentRefused, "%s", message).Because(f.Err.Err)
	return f
}

// statusOfMessage returns the status of a refusal without a known code. Messages only count when the request is at fault.
func (s *style) statusOfMessage(status int, message string) int {
	if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		return status
	}
	if isModeration(message) {
		return statusModerated
	}
	message = strings.ToLower(message)
	for _, w := range s.messages {
		if strings.Contains(message, w.part) {
			return w.status
		}
	}
	return status
}

// imageWords are words of refusals that concern the image.
var imageWords = []string{"image", "images", "face", "faces", "photo", "photos", "picture", "pictures"}

// paramOf returns the field that a refusal of content concerns.
func paramOf(o CreateRequest, message string) string {
	words := strings.FieldsFunc(strings.ToLower(message), func(r rune) bool { return !unicode.IsLetter(r) })
	if o.Image != nil && slices.ContainsFunc(words, func(w string) bool { return slices.Contains(imageWords, w) }) {
		return "input_reference"
	}
	return "prompt"
}

// Ambiguous reports whether the upstream may have accepted the request although Create failed.
func Ambiguous(f *provider.Fault) bool {
	if f == nil || f.Unsent {
		return false
	}
	switch f.Class {
	case provider.ClassConnect, provider.ClassDNS, provider.ClassTLS, provider.ClassSetup, provider.ClassCredential,
		provider.ClassRefused, provider.ClassRateLimited, provider.ClassRedirect:
		return false
	case provider.ClassServer:
		return f.Status != http.StatusNotImplemented && f.Status != http.StatusServiceUnavailable && f.Status != statusOverloaded
	}
	return true
}

// statusOverloaded is the status of some upstreams in place of 503.
const statusOverloaded = 529
