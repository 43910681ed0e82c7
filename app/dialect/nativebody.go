package dialect

import (
	"bytes"

	"umg/app/dialect/native"
	"umg/app/llm"
)

// generation is the outline of a native answer, or of one frame of it: both are made alike.
type generation struct {
	model, id, usage, failure, candidates span

	bytes    int64
	strings  int  // that say something
	text     span // the last of them
	calls    bool
	finished int64 // candidates that say why they ended
	reason   span  // the last of these reasons
	failed   span  // the first of them that means a failure
	blocked  span  // what says that the request was not answered
}

// read walks the answer once and reports where the walk ended.
func (g *generation) read(doc []byte) object {
	o := openObject(doc, 0)
	for o.nextKey() {
		key := o.key.of(doc)
		if string(key) == "candidates" {
			if !o.close(g.readCandidates(doc, o.value.from)) {
				break
			}
			g.candidates = o.value
			continue
		}
		if !o.close(valueEnd(doc, o.value.from, depthMax)) {
			break
		}
		switch string(key) {
		case "modelVersion":
			g.model = o.value
		case "responseId":
			g.id = o.value
		case "usageMetadata":
			g.usage = o.value
		case "error":
			g.failure = o.value
		case "promptFeedback":
			if at := memberOf(o.value.of(doc), "blockReason"); isReason(at.of(o.value.of(doc))) {
				g.blocked = o.value
			}
		}
	}
	return o
}

func (g *generation) readCandidates(doc []byte, from int) int {
	if from < len(doc) && doc[from] == 'n' {
		return literalEnd(doc, from, "null")
	}
	list := openArray(doc, from)
	for list.nextValue() {
		if !list.close(g.readCandidate(doc, list.value.from)) {
			break
		}
	}
	return list.end()
}

func (g *generation) readCandidate(doc []byte, from int) int {
	o := openObject(doc, from)
	for o.nextKey() {
		key := o.key.of(doc)
		if string(key) == "content" {
			if !o.close(g.readContent(doc, o.value.from)) {
				break
			}
			continue
		}
		if !o.close(valueEnd(doc, o.value.from, depthMax)) {
			break
		}
		if string(key) == "finishReason" && isReason(o.value.of(doc)) {
			g.finished++
			if g.reason = o.value; !g.failed.found() && native.StopOf(text(o.value.of(doc))).Failed() {
				g.failed = o.value
			}
		}
	}
	return o.end()
}

func (g *generation) readContent(doc []byte, from int) int {
	if from < len(doc) && doc[from] == 'n' {
		return literalEnd(doc, from, "null")
	}
	o := openObject(doc, from)
	for o.nextKey() {
		var end int
		if string(o.key.of(doc)) == "parts" {
			end = g.readParts(doc, o.value.from)
		} else {
			end = valueEnd(doc, o.value.from, depthMax)
		}
		if !o.close(end) {
			break
		}
	}
	return o.end()
}

func (g *generation) readParts(doc []byte, from int) int {
	if from < len(doc) && doc[from] == 'n' {
		return literalEnd(doc, from, "null")
	}
	list := openArray(doc, from)
	for list.nextValue() {
		if !list.close(g.readPart(doc, list.value.from)) {
			break
		}
	}
	return list.end()
}

func (g *generation) readPart(doc []byte, from int) int {
	o := openObject(doc, from)
	for o.next() {
		value := o.value.of(doc)
		if isEmpty(value) {
			continue
		}
		switch string(o.key.of(doc)) {
		case "thought", "thoughtSignature", "videoMetadata", "partMetadata":
			continue
		case "text":
			g.bytes += textBytes(value)
			g.text = o.value
			g.strings++
			continue
		case "inlineData", "fileData":
			g.bytes++ // it says something, but its bytes are no tokens
		case "functionCall":
			g.calls = true
			name, args := memberOf(value, "name"), memberOf(value, "args")
			g.bytes += max(1, textBytes(name.of(value))+argumentBytes(args.of(value)))
		default:
			g.bytes += max(1, textBytes(value))
		}
		g.strings += 2 // whatever it is, it is more than one string
	}
	return o.end()
}

// plain reports whether the answer is one text and nothing else: no other part, and no end.
func (g *generation) plain() bool {
	return g.strings == 1 && g.finished == 0 && !g.blocked.found()
}

// isReason reports whether a value says why something ended; the enumerations of this style begin with a word for
// nothing.
func isReason(value []byte) bool {
	return len(value) > len(`""`) && value[0] == '"' && !bytes.HasSuffix(value, []byte(`_UNSPECIFIED"`))
}

// failedBy is the error of an answer with a candidate that has failed.
func (g *generation) failedBy(doc []byte) error {
	if !g.failed.found() {
		return nil
	}
	word := text(g.failed.of(doc))
	return failedBy(native.StopOf(word), word)
}

// finish is why the answer ended; empty when it does not say.
func (g *generation) finish(doc []byte, calls bool) string {
	switch {
	case g.reason.found():
		return finishOf(native.StopOf(text(g.reason.of(doc))), calls)
	case g.blocked.found():
		return string(llm.StopFilter)
	}
	return ""
}

// readNativeBody checks that raw is a whole answer and notes what changes in it.
func readNativeBody(raw []byte, a Ask) (Body, error) {
	b := &passedBody{raw: raw, meter: nativeMeter}
	var g generation
	o := g.read(raw)
	needed := g.candidates
	if g.blocked.found() {
		needed = g.blocked
	}
	if err := b.close(&o, g.failure, needed); err != nil {
		return nil, err
	}
	if isEmpty(g.candidates.of(raw)) && !g.blocked.found() {
		return nil, llm.ErrBroken
	}
	if err := g.failedBy(raw); err != nil {
		return nil, err
	}
	b.usage = g.usage
	if g.model.found() {
		renameModel(&b.edits, raw, g.model, quoted(a.Model))
	}
	b.tally = StreamStats{ContentBytes: g.bytes, Finish: g.finish(raw, g.calls)}
	b.tally.Usage, b.tally.Reported = nativeUsage(g.usage.of(raw))
	return b, nil
}

// nativeFrames writes a whole answer as the one frame of a stream: both are made alike.
func nativeFrames(raw []byte) ([]byte, error) {
	var g generation
	if o := g.read(raw); !o.whole() {
		return nil, llm.ErrBroken
	}
	if err := g.failedBy(raw); err != nil {
		return nil, err
	}
	raw = oneLine(raw)
	frame := append(append(make([]byte, 0, len(raw)+len(dataLine)+len(frameEnd)), dataLine...), raw...)
	return append(frame, frameEnd...), nil
}
