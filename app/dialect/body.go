package dialect

import "umg/app/llm"

// passedBody is a whole answer that goes on as it came, but for the model's name and the usage.
type passedBody struct {
	raw   []byte
	meter *meter
	edits edits
	usage span
	brace int // where the answer's closing brace is
	tally StreamStats
}

func (b *passedBody) Tally() StreamStats { return b.tally }

func (b *passedBody) Append(dst []byte, bill Bill) []byte {
	all, usage := b.edits, string(b.meter.billed(b.usage.of(b.raw), bill))
	if b.usage.found() {
		all.replace(b.usage, usage)
	} else {
		all.insert(b.brace, `,"`+b.meter.member+`":`+usage)
	}
	return all.append(dst, b.raw)
}

// close ends the walk over an answer: it must be whole, no error, and have the member that makes it an answer.
func (b *passedBody) close(o *object, failed, needed span) error {
	switch {
	case !o.whole():
		return llm.ErrBroken
	case !isNull(failed.of(b.raw)):
		return failure(b.raw)
	case isNull(needed.of(b.raw)):
		return llm.ErrBroken
	}
	b.brace = o.end() - 1
	return nil
}

// renameModel replaces the provider's name of the model by the public id.
func renameModel(e *edits, doc []byte, at span, model string) {
	if !e.full() && string(at.of(doc)) != model {
		e.replace(at, model)
	}
}
