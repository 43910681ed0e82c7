package simulator

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

const (
	// turnTokens is what each message costs in addition to its text.
	turnTokens = 4
	// mediaTokens is what each image, sound or file costs, whatever its size.
	mediaTokens = 258
	// choicesMax is the largest number of answers to one prompt.
	choicesMax = 128
	// unlimited is the output limit of a request that names none.
	unlimited = int64(-1)
)

// prompt is a request of any style, as far as the simulator understands it. The decoder of each style fills it turn by
// turn. It counts the input tokens as it is filled: the same conversation counts the same in every style.
type prompt struct {
	model     string // Model has no fault directives.
	modelSpec string // ModelSpec is the fault directives of the model name.
	textSpec  string // TextSpec is the fault directives of the last user text.
	echo      any    // Echo is what the style repeats in its answer.

	answerForm
	answerLimits
	toolOptions
	reasoningOptions
	conversation
	inputTokens
}

// answerForm is how the caller wants the answer sent.
type answerForm struct {
	stream       bool
	includeUsage bool
	array        bool   // Array means that a native stream is a JSON array instead of events.
	format       string // Format is empty, "object" or "schema".
	schema       json.RawMessage
}

// answerLimits are how many answers the caller wants and where each ends.
type answerLimits struct {
	limit   int64
	stops   []string
	choices int64
}

// toolOptions are the tools of a request and what the caller wants of them.
type toolOptions struct {
	tools    []tool
	choice   toolChoice
	parallel bool
}

// reasoningOptions are what the caller wants of the reasoning.
type reasoningOptions struct {
	thinking     thinking
	showThoughts bool
	thinkingType string // ThinkingType is how the caller asks for thinking, as in the messages style.
	effort       string // Effort is output_config.effort of the messages style.
}

// conversation is what the turns of a request say.
type conversation struct {
	asked      string          // Asked is the text of the user since the latest turn of the assistant.
	begun      begun           // Begun is the unfinished answer at the end of the conversation, if any.
	media      []media         // Media are the attachments since the latest turn of the assistant.
	results    []string        // Results are the tool results since the latest turn of the assistant.
	calls      map[string]bool // The keys are ids of tool calls.
	signatures []string        // Signatures are the signatures of earlier reasoning in the request.
	unsigned   bool            // Unsigned means that a tool call lacks the signature that the style requires.
	opened     string          // Opened is the role of the first turn.
	speaker    string          // Speaker is the role of the latest turn.
}

// inputTokens counts the input.
type inputTokens struct {
	input        int64 // Input counts every input token, also cached ones.
	system       int64 // System counts the tokens of system messages.
	cachedPrefix string
}

// thinking says whether the caller wants reasoning.
type thinking uint8

const (
	thinkingByModel thinking = iota // The name of the model decides.
	thinkingOn
	thinkingOff
)

// media is an attachment.
type media struct {
	kind  string // Kind is image, audio or file.
	mime  string
	bytes int
	from  string // From is the URL or id of an attachment that the request does not contain.
}

type tool struct {
	name   string
	schema json.RawMessage
}

// toolChoice is the caller's wish about tools.
type toolChoice struct {
	mode string // Mode is auto, none or required.
	name string // With required, the caller may name the one tool to call.
}

func newPrompt(model string) *prompt {
	p := &prompt{
		answerLimits: answerLimits{limit: unlimited, choices: 1},
		toolOptions:  toolOptions{choice: toolChoice{mode: "auto"}, parallel: true},
	}
	p.model, p.modelSpec = splitModel(model)
	return p
}

// splitModel separates the directives from a model name: "small+status=503+times=1", or "fault/status=503;times=1"
// for people who can only type a model name.
func splitModel(model string) (name, spec string) {
	if rest, ok := strings.CutPrefix(model, "fault/"); ok {
		return "fault", strings.ReplaceAll(rest, "+", ";")
	}
	name, spec, _ = strings.Cut(model, "+")
	return name, strings.ReplaceAll(spec, "+", ";")
}

// turn begins a message. Neighbours of one role are one turn, and tool results are the user's, as the styles differ in
// what they put into one message.
func (p *prompt) turn(role string) {
	if role == "tool" || role == "function" {
		role = "user"
	}
	if p.opened == "" {
		p.opened = role
	}
	if role != p.speaker {
		p.input += turnTokens
	}
	p.speaker = role
}

// addSystem adds a system message. Its first line may mark it as read from or written to the cache of prompts.
func (p *prompt) addSystem(text string) {
	tokens := countTokens(text)
	p.input += turnTokens + tokens
	p.system += turnTokens + tokens
	for _, mark := range []string{cachedMark, cachingMark} {
		if p.cachedPrefix == "" && strings.HasPrefix(text, mark) {
			p.cachedPrefix = mark
		}
	}
}

// addUser adds a text of the user. Texts since the assistant last spoke belong together. What coding tools add of their
// own is counted, but is nothing that the user asks.
func (p *prompt) addUser(text string) {
	p.input += countTokens(text)
	text = withoutContext(text)
	if text == "" {
		return
	}
	if p.asked != "" {
		text = p.asked + "\n" + text
	}
	p.asked = text
	p.begun = begun{}
}

// withoutContext is a text without the elements that it begins with, such as <system-reminder>…</system-reminder>, by
// which coding tools tell models of the surroundings. Their names are of several words, unlike those of HTML.
func withoutContext(text string) string {
	for {
		rest := strings.TrimLeft(text, " \n")
		if !strings.HasPrefix(rest, "<") {
			return text
		}
		name, inside, found := strings.Cut(rest[1:], ">")
		if !found || !strings.ContainsAny(name, "-_") || strings.ContainsAny(name, " /<") {
			return text
		}
		_, after, closed := strings.Cut(inside, "</"+name+">")
		if !closed {
			return text
		}
		text = strings.TrimLeft(after, " \n")
	}
}

func (p *prompt) addMedia(m media) {
	p.input += mediaTokens
	p.media = append(p.media, m)
}

// addAssistant adds what the assistant said before; what the user said before that is answered.
func (p *prompt) addAssistant(text string) {
	p.input += countTokens(text)
	p.begin(text)
	p.asked, p.media, p.results = "", nil, nil
}

func (p *prompt) addCall(id, name, arguments string) {
	p.input += countTokens(name) + countTokens(arguments)
	p.begun = begun{}
	if p.calls == nil {
		p.calls = make(map[string]bool)
	}
	p.calls[id] = true
}

// addResult adds what a tool gave for the call with this id, and reports whether there was such a call.
func (p *prompt) addResult(id, text string) bool {
	p.input += countTokens(text)
	p.begun = begun{}
	p.results = append(p.results, text)
	return p.calls[id]
}

func (p *prompt) addTool(name, description string, schema json.RawMessage) {
	p.input += countTokens(name) + countTokens(description) + countTokens(compact(schema))
	p.tools = append(p.tools, tool{name: name, schema: schema})
}

// begun is an answer of the assistant with which a conversation ends: the model is to go on with it.
type begun struct {
	text  string
	asked string // Asked is what the answer replies to.
	media []media
}

// begin notes what the assistant said last, and what that answers. Neighbouring turns of the assistant are one.
func (p *prompt) begin(text string) {
	if p.begun.text == "" {
		p.begun = begun{asked: p.asked, media: p.media}
	}
	p.begun.text += text
	if p.begun.asked == "" || len(p.results) > 0 {
		p.begun = begun{} // The turn replies to no question, or to tool results.
	}
}

// finish takes the directives off the user's text: a first line "simulate: SPEC". What a begun answer answers is asked.
func (p *prompt) finish() {
	if p.begun.text != "" {
		p.asked, p.media = p.begun.asked, p.begun.media
	}
	rest, ok := strings.CutPrefix(p.asked, "simulate:")
	if !ok {
		return
	}
	spec, text, _ := strings.Cut(rest, "\n")
	p.textSpec, p.asked = strings.TrimSpace(spec), text
}

// compact is JSON without the white space between its tokens.
func compact(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return string(raw)
	}
	return b.String()
}

// attachment describes what stands at a URL: a data URL is measured without being decoded.
func attachment(kind, address string) media {
	rest, ok := strings.CutPrefix(address, "data:")
	if !ok {
		return media{kind: kind, from: shorten(address, 60)}
	}
	head, data, _ := strings.Cut(rest, ",")
	mime, encoded := strings.CutSuffix(head, ";base64")
	mime, _, _ = strings.Cut(mime, ";")
	if encoded {
		return media{kind: kind, mime: mime, bytes: base64Bytes(data)}
	}
	if text, err := url.PathUnescape(data); err == nil {
		data = text
	}
	return media{kind: kind, mime: mime, bytes: len(data)}
}

// base64Bytes is the number of bytes that standard base64 stands for.
func base64Bytes(data string) int {
	data = strings.TrimRight(data, "=")
	return len(data) * 3 / 4
}

func (m media) String() string {
	switch {
	case m.from != "":
		return m.from
	case m.mime == "":
		return strconv.Itoa(m.bytes) + " bytes"
	}
	return m.mime + ", " + strconv.Itoa(m.bytes) + " bytes"
}

// texts is a JSON string, or a list of strings, or nothing.
type texts []string

// UnmarshalJSON reads either form.
func (t *texts) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '[' {
		return json.Unmarshal(raw, (*[]string)(t))
	}
	var one *string
	if err := json.Unmarshal(raw, &one); err != nil || one == nil {
		return err
	}
	*t = texts{*one}
	return nil
}

// parts is a JSON string, or a list of P, or nothing. A string is kept apart, as each style has its own text part.
type parts[P any] struct {
	text string
	list []P
}

// join is the text of all parts together.
func (p *parts[P]) join(text func(*P) string) string {
	var all strings.Builder
	all.WriteString(p.text)
	for i := range p.list {
		all.WriteString(text(&p.list[i]))
	}
	return all.String()
}

// UnmarshalJSON reads either form.
func (p *parts[P]) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '[' {
		return json.Unmarshal(raw, &p.list)
	}
	return json.Unmarshal(raw, &p.text)
}
