package dialect

import (
	"bytes"

	"umg/app/dialect/rawjson"
	"umg/app/llm"
	"umg/app/usagereader"
)

// generation has the positions of the members of a native answer, or of one frame, which has the same form.
type generation struct {
	model, id, usage, failure, candidates rawjson.Span

	bytes int64
	// strings is the number of strings with content.
	strings int
	// text is the last string with content.
	text  rawjson.Span
	calls bool
	// finished is the number of candidates with a finish reason.
	finished int64
	// reason is the last finish reason.
	reason rawjson.Span
	// failed is the first finish reason that means a failure.
	failed rawjson.Span
	// blocked is the reason for which the provider blocked the request.
	blocked rawjson.Span
}

// read scans the answer once. It returns the state of the scan at its end.
func (g *generation) read(doc []byte) rawjson.Object {
	o := rawjson.OpenObject(doc, 0)
	for o.NextKey() {
		key := o.Key.Of(doc)
		if string(key) == "candidates" {
			if !o.EndValue(rawjson.EachElement(doc, o.Value.From, func(from int) int { return g.readCandidate(doc, from) })) {
				break
			}
			g.candidates = o.Value
			continue
		}
		if !o.EndValue(rawjson.ValueEnd(doc, o.Value.From, rawjson.DepthMax)) {
			break
		}
		switch string(key) {
		case "modelVersion":
			g.model = o.Value
		case "responseId":
			g.id = o.Value
		case "usageMetadata":
			g.usage = o.Value
		case "error":
			g.failure = o.Value
		case "promptFeedback":
			if at := rawjson.MemberOf(o.Value.Of(doc), "blockReason"); isReason(at.Of(o.Value.Of(doc))) {
				g.blocked = o.Value
			}
		}
	}
	return o
}

func (g *generation) readCandidate(doc []byte, from int) int {
	o := rawjson.OpenObject(doc, from)
	for o.NextKey() {
		key := o.Key.Of(doc)
		if string(key) == "content" {
			if !o.EndValue(g.readContent(doc, o.Value.From)) {
				break
			}
			continue
		}
		if !o.EndValue(rawjson.ValueEnd(doc, o.Value.From, rawjson.DepthMax)) {
			break
		}
		if string(key) == "finishReason" && isReason(o.Value.Of(doc)) {
			g.finished++
			if g.reason = o.Value; !g.failed.Found() && llm.StopOf(rawjson.String(o.Value.Of(doc))).Failed() {
				g.failed = o.Value
			}
		}
	}
	return o.End()
}

func (g *generation) readContent(doc []byte, from int) int {
	if from < len(doc) && doc[from] == 'n' {
		return rawjson.LiteralEnd(doc, from, "null")
	}
	o := rawjson.OpenObject(doc, from)
	for o.NextKey() {
		var end int
		if string(o.Key.Of(doc)) == "parts" {
			end = rawjson.EachElement(doc, o.Value.From, func(from int) int { return g.readPart(doc, from) })
		} else {
			end = rawjson.ValueEnd(doc, o.Value.From, rawjson.DepthMax)
		}
		if !o.EndValue(end) {
			break
		}
	}
	return o.End()
}

func (g *generation) readPart(doc []byte, from int) int {
	o := rawjson.OpenObject(doc, from)
	for o.Next() {
		value := o.Value.Of(doc)
		if rawjson.IsEmpty(value) {
			continue
		}
		switch string(o.Key.Of(doc)) {
		case "thought", "thoughtSignature", "videoMetadata", "partMetadata":
			continue
		case "text":
			g.bytes += rawjson.TextBytes(value)
			g.text = o.Value
			g.strings++
			continue
		case "inlineData", "fileData":
			// The part is content, but its bytes are not tokens.
			g.bytes++
		case "functionCall":
			g.calls = true
			name, args := rawjson.MemberOf(value, "name"), rawjson.MemberOf(value, "args")
			g.bytes += max(1, rawjson.TextBytes(name.Of(value))+argumentBytes(args.Of(value))+sumOf(rawjson.Get(value, "partialArgs"), pieceBytes))
		default:
			g.bytes += max(1, rawjson.TextBytes(value))
		}
		// The template needs exactly one string, so any other part counts as two.
		g.strings += 2
	}
	return o.End()
}

// pieceBytes counts the text in a piece of the arguments of a call.
func pieceBytes(piece []byte) int64 { return memberBytes(piece, "stringValue") }

// plain reports whether the answer is one text and nothing else: no other part, and no end.
func (g *generation) plain() bool {
	return g.strings == 1 && g.finished == 0 && !g.blocked.Found()
}

// isReason reports whether a value is a reason other than the unspecified one.
func isReason(value []byte) bool {
	return len(value) > len(`""`) && value[0] == '"' && !bytes.HasSuffix(value, []byte(`_UNSPECIFIED"`))
}

// failedBy returns the error of an answer with a candidate that has failed.
func (g *generation) failedBy(doc []byte) error {
	reason := rawjson.String(g.failed.Of(doc))
	return failedBy(llm.StopOf(reason), reason)
}

// finish returns why the answer ended. It is empty when there is no reason.
func (g *generation) finish(doc []byte, calls bool) string {
	switch {
	case g.reason.Found():
		return finishOf(llm.StopOf(rawjson.String(g.reason.Of(doc))), calls)
	case g.blocked.Found():
		return string(llm.StopFilter)
	}
	return ""
}

// readNativeBody checks that raw is a whole answer and records the edits for the client.
func readNativeBody(raw []byte, a llm.ResponseOptions) (Body, error) {
	b := &passthroughBody{raw: raw, format: nativeFormat}
	var g generation
	o := g.read(raw)
	needed := g.candidates
	if g.blocked.Found() {
		needed = g.blocked
	}
	if err := b.close(&o, g.failure, needed); err != nil {
		return nil, err
	}
	if rawjson.IsEmpty(g.candidates.Of(raw)) && !g.blocked.Found() {
		return nil, llm.ErrBroken
	}
	if err := g.failedBy(raw); err != nil {
		return nil, err
	}
	b.usage = g.usage
	if g.model.Found() {
		renameModel(&b.edits, raw, g.model, rawjson.Quote(a.Model))
	}
	b.stats = StreamStats{ContentBytes: g.bytes, Finish: g.finish(raw, g.calls)}
	b.stats.readUsage(usagereader.For(&a, llm.Native), raw, g.usage.Of(raw))
	return b, nil
}

// nativeFrames writes a whole answer as the only frame of a stream, which has the same form.
func nativeFrames(raw []byte) ([]byte, error) {
	var g generation
	if o := g.read(raw); !o.IsWhole() {
		return nil, llm.ErrBroken
	}
	if err := g.failedBy(raw); err != nil {
		return nil, err
	}
	raw = oneLine(raw)
	frame := append(append(make([]byte, 0, len(raw)+len(dataLine)+len(frameEnd)), dataLine...), raw...)
	return append(frame, frameEnd...), nil
}
