package dialect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"umg/app"
	"umg/app/dialect/rawjson"
	"umg/app/llm"
)

// countMax bounds every count of tokens or answers.
const countMax = 1 << 31

// field is a member of a request that the gateway reads or may change.
type field uint8

const (
	fieldModel field = iota
	fieldStream
	// fieldOptions are the options of the stream, or of the generation.
	fieldOptions
	fieldIncludeUsage
	// fieldUsage is where clients of one provider ask for the usage of a stream.
	fieldUsage
	fieldUsageInclude
	// fieldMaxTokens is the bound that takes precedence over fieldMaxTokensOld.
	fieldMaxTokens
	fieldMaxTokensOld
	fieldChoices
	fieldEndUser
	// fieldEndUserOther is the less usual name of fieldEndUser.
	fieldEndUserOther
	fieldMetadata
	// fieldAdditional are the options that only some models know.
	fieldAdditional
	fieldThinking
	fieldBudget
	fieldToolChoice
	// fieldTurns is the conversation.
	fieldTurns
	fieldThread
	fieldStore
	fieldInclude
	fieldReasoning
	// fieldToolCalls bounds the uses of tools that the provider runs.
	fieldToolCalls
	fieldCount
)

// read scans a request once. It records where its members and its extras are, and reads the members that every style has.
func (h *Head) read(body []byte, style llm.Style, known map[string]field, allowed llm.ExtraSet) error {
	w := extraScan{doc: body, allowed: allowed}
	var g gap
	root := extraRoots[style]
	o := rawjson.OpenObject(body, 0)
	for o.NextKey() {
		name := o.Name()
		f, ok := known[string(name)]
		if !w.topMember(root, name, &o, &g) {
			break
		}
		if !ok {
			continue
		}
		if h.spans[f].Found() {
			return app.Errorf(app.Invalid, "invalid_request_error", "%s appears twice in the body; send it once.", name).At(string(name))
		}
		h.spans[f] = o.Value
		if int(f) < len(h.members) {
			h.members[f] = o.Member
		}
	}
	if !o.IsWhole() {
		return notJSON(body)
	}
	if err := h.readModel(body); err != nil {
		return err
	}
	w.end(&g)
	h.text, h.Tools, h.TypedTools = w.text, int64(w.kept), int64(w.typed)
	h.noteExtras(&w)
	h.Stream = h.flag(body, fieldStream, "stream")
	h.Choices = 1
	h.BodyBytes = int64(len(body))
	h.TextBytes = h.BodyBytes
	return nil
}

// readInside records where members of a member are. It reports whether that member is an object.
func (h *Head) readInside(body []byte, f field, name string, known map[string]field) bool {
	at := h.spans[f]
	raw := at.Of(body)
	if rawjson.IsNull(raw) {
		return false
	}
	if raw[0] != '{' {
		h.refuse(name, "%s must be an object or null.", name)
		return false
	}
	o := rawjson.OpenObject(body[:at.To], at.From)
	for o.Next() {
		if f, ok := known[string(o.Name())]; ok {
			h.spans[f] = o.Value
		}
	}
	return true
}

func (h *Head) readModel(body []byte) error {
	raw := h.spans[fieldModel].Of(body)
	if rawjson.IsNull(raw) {
		e := app.Errorf(app.Invalid, "invalid_request_error",
			"model is required; it must be the id of a model, such as GET /v1/models lists.").At("model")
		e.Missing = true
		return e
	}
	if h.Model = rawjson.String(raw); h.Model == "" {
		return app.Errorf(app.Invalid, "invalid_request_error",
			"model must be a non-empty string: the id of a model, such as GET /v1/models lists.").At("model")
	}
	return nil
}

func (h *Head) flag(body []byte, f field, name string) bool {
	raw := h.spans[f].Of(body)
	if rawjson.IsNull(raw) {
		return false
	}
	if raw[0] != 't' && raw[0] != 'f' {
		h.refuse(name, "%s must be true or false.", name)
	}
	return raw[0] == 't'
}

// count reads a positive integer. It is zero when the member is absent or null.
func (h *Head) count(body []byte, f field, name string) int64 {
	raw := h.spans[f].Of(body)
	if rawjson.IsNull(raw) {
		return 0
	}
	n, ok := wholeNumber(raw)
	if !ok || n < 1 || n > countMax {
		h.refuse(name, "%s must be an integer from 1 to %d.", name, int64(countMax))
		return 0
	}
	return n
}

func (h *Head) refuse(param, format string, args ...any) {
	if h.bad == nil {
		h.bad = app.Errorf(app.Invalid, "invalid_request_error", format, args...).At(param)
	}
}

// wholeNumber reads a JSON number without a fraction, also when it is written like 1e3 or 1.0.
func wholeNumber(raw []byte) (int64, bool) {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != float64(int64(f)) || f > countMax || f < -countMax {
		return 0, false
	}
	return int64(f), true
}

// notJSON returns the error for a body that cannot be scanned, with its position.
func notJSON(body []byte) error {
	bad := app.Errorf(app.Invalid, "invalid_json", "The body is not valid JSON.")
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))
	if d.PeekKind() != '{' && len(bytes.TrimSpace(body)) > 0 && jsontext.Value(body).IsValid() {
		bad.Message = "The body must be a JSON object."
		return bad
	}
	for {
		_, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			if d.InputOffset() == 0 {
				bad.Message = "The body is empty; it must be a JSON object."
			}
			return bad
		}
		if err != nil {
			bad.Message = "The body is not valid JSON" + positionText(body, offset(err, d)) + "."
			return bad.Because(err)
		}
		if d.StackDepth() > rawjson.DepthMax {
			bad.Message = "The body nests arrays and objects deeper than " + strconv.Itoa(rawjson.DepthMax) + " levels."
			return bad
		}
		if d.StackDepth() == 0 {
			if rest := bytes.TrimSpace(body[d.InputOffset():]); len(rest) > 0 {
				bad.Message = "The body has more text behind its JSON object" + positionText(body, d.InputOffset()) + "."
				return bad
			}
		}
	}
}

// positionText returns a position in a body as an error names it.
func positionText(body []byte, offset int64) string {
	before := body[:min(int(offset), len(body))]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf(" at byte %d (line %d, column %d)", offset, line, column)
}

func offset(err error, d *jsontext.Decoder) int64 {
	if syntactic, ok := err.(*jsontext.SyntacticError); ok { //nolint:errorlint // the decoder returns it unwrapped
		return syntactic.ByteOffset
	}
	return d.InputOffset()
}

// The members of a request that the gateway reads, by name. Those of the native style have two spellings.
var (
	chatFields = map[string]field{
		"model": fieldModel, "stream": fieldStream, "stream_options": fieldOptions, "usage": fieldUsage,
		"max_completion_tokens": fieldMaxTokens, "max_tokens": fieldMaxTokensOld, "n": fieldChoices, "user": fieldEndUser,
		"safety_identifier": fieldEndUserOther, "messages": fieldTurns,
	}
	messagesFields = map[string]field{
		"model": fieldModel, "stream": fieldStream, "max_tokens": fieldMaxTokens, "metadata": fieldMetadata, "thinking": fieldThinking,
		"tool_choice": fieldToolChoice, "thread": fieldThread, "messages": fieldTurns,
	}
	responsesFields = map[string]field{
		"model": fieldModel, "stream": fieldStream, "max_output_tokens": fieldMaxTokens, "safety_identifier": fieldEndUser,
		"user": fieldEndUserOther, "input": fieldTurns, "store": fieldStore, "include": fieldInclude, "reasoning": fieldReasoning,
		"max_tool_calls": fieldToolCalls,
	}
	nativeFields = map[string]field{
		"model": fieldModel, "stream": fieldStream, "generationConfig": fieldOptions, "generation_config": fieldOptions,
		"contents": fieldTurns,
	}
	generationFields = map[string]field{
		"maxOutputTokens": fieldMaxTokens, "max_output_tokens": fieldMaxTokens,
		"candidateCount": fieldChoices, "candidate_count": fieldChoices,
	}
)

// peekChat reads the head of a chat request.
func peekChat(body []byte, allowed llm.ExtraSet) (Head, error) {
	var h Head
	if err := h.read(body, llm.Chat, chatFields, allowed); err != nil {
		return h, err
	}
	old := h.count(body, fieldMaxTokensOld, "max_tokens")
	if h.MaxTokens = h.count(body, fieldMaxTokens, "max_completion_tokens"); h.MaxTokens == 0 {
		h.MaxTokens = old
	}
	h.Choices = max(1, h.count(body, fieldChoices, "n"))
	h.readEndUser(body)
	if h.readInside(body, fieldOptions, "stream_options", map[string]field{"include_usage": fieldIncludeUsage}) {
		h.IncludeUsage = h.flag(body, fieldIncludeUsage, "stream_options.include_usage")
	}
	if h.readInside(body, fieldUsage, "usage", map[string]field{"include": fieldUsageInclude}) &&
		h.flag(body, fieldUsageInclude, "usage.include") {
		h.IncludeUsage = true
	}
	h.measureMedia(body, func(turn []byte) mediaSize { return sumMember(turn, "content", chatPartSize) })
	return h, nil
}

// readEndUser reads the id of the end user, which has two names.
func (h *Head) readEndUser(body []byte) {
	if h.EndUser = rawjson.String(h.spans[fieldEndUser].Of(body)); h.EndUser == "" {
		h.EndUser = rawjson.String(h.spans[fieldEndUserOther].Of(body))
	}
}

// peekMessages reads the head of a messages request.
func peekMessages(body []byte, allowed llm.ExtraSet) (Head, error) {
	var h Head
	if err := h.read(body, llm.Messages, messagesFields, allowed); err != nil {
		return h, err
	}
	h.MaxTokens = h.count(body, fieldMaxTokens, "max_tokens")
	h.readInside(body, fieldMetadata, "metadata", map[string]field{"user_id": fieldEndUser})
	h.EndUser = rawjson.String(h.spans[fieldEndUser].Of(body))
	h.readInside(body, fieldThinking, "thinking", map[string]field{"budget_tokens": fieldBudget})
	if !rawjson.IsNull(h.spans[fieldThread].Of(body)) {
		// Clients that use thread on their own know this code, and then send the whole conversation in each request.
		return h, app.Errorf(app.Invalid, "thread_unsupported_request",
			"thread is not supported: nothing is kept between requests, so send the whole conversation in messages.").At("thread")
	}
	h.measureMedia(body, func(turn []byte) mediaSize { return sumMember(turn, "content", blockSize) })
	return h, nil
}

// peekResponses reads the head of a responses request.
func peekResponses(body []byte, allowed llm.ExtraSet) (Head, error) {
	var h Head
	if err := h.read(body, llm.Responses, responsesFields, allowed); err != nil {
		return h, err
	}
	h.MaxTokens = h.count(body, fieldMaxTokens, "max_output_tokens")
	h.readEndUser(body)
	h.measureMedia(body, func(item []byte) mediaSize {
		return sumMember(item, "content", responsesPartSize).plus(sumMember(item, "output", responsesPartSize))
	})
	return h, nil
}

// peekNative reads the head of a native request.
func peekNative(body []byte, allowed llm.ExtraSet) (Head, error) {
	var h Head
	if err := h.read(body, llm.Native, nativeFields, allowed); err != nil {
		return h, err
	}
	if h.readInside(body, fieldOptions, "generationConfig", generationFields) {
		h.MaxTokens = h.count(body, fieldMaxTokens, "generationConfig.maxOutputTokens")
		h.Choices = max(1, h.count(body, fieldChoices, "generationConfig.candidateCount"))
	}
	h.measureMedia(body, func(turn []byte) mediaSize { return sumMember(turn, "parts", nativePartSize) })
	return h, nil
}

// measureMedia counts what can become input tokens of the conversation. Media are only counted in the parts of turns. Elsewhere, such as in
// the arguments of a call, the same members are text that the model reads. A request without members that may have media is not scanned.
func (h *Head) measureMedia(body []byte, turn func(value []byte) mediaSize) {
	h.TextTokens, h.DenseBytes, h.DenseTokens = h.text.units/unitsPerToken, h.text.denseBytes, (h.text.denseHalves+1)/2
	if !h.text.hasMedia {
		return
	}
	m := sumElements(h.spans[fieldTurns].Of(body), turn)
	h.Images, h.Documents, h.Opaque, h.MediaTokens = m.images, m.documents, m.opaque, m.tokens
	h.TextBytes -= m.foreign
	h.TextTokens = max(0, h.text.units-m.text.units) / unitsPerToken
	h.DenseBytes = max(0, h.text.denseBytes-m.text.denseBytes)
	h.DenseTokens = (max(0, h.text.denseHalves-m.text.denseHalves) + 1) / 2
}
