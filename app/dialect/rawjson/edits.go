package rawjson

// editsMax is more than any request or answer needs.
const editsMax = 8

// Edits holds the replacements to make in a document. The bytes between them stay as they are. The zero value is empty and ready.
type Edits struct {
	list [editsMax]Replacement
	n    int
}

// Replacement is the text that replaces a part of a document.
type Replacement struct {
	At   Span
	With string
}

// Replace adds the replacement of a span. Spans must not overlap; an empty span inserts. At most eight replacements fit: see Full.
func (e *Edits) Replace(at Span, with string) {
	i := e.n
	for ; i > 0; i-- {
		before := e.list[i-1].At
		if before.From < at.From || before.From == at.From && (at.From < at.To || before.From == before.To) {
			break
		}
		e.list[i] = e.list[i-1]
	}
	e.list[i] = Replacement{at, with}
	e.n++
}

// Insert adds the insertion of with before the byte at.
func (e *Edits) Insert(at int, with string) { e.Replace(Span{at, at}, with) }

// AppendTo appends the document with all replacements.
func (e *Edits) AppendTo(dst, doc []byte) []byte {
	last := 0
	for _, one := range e.list[:e.n] {
		dst = append(dst, doc[last:one.At.From]...)
		dst = append(dst, one.With...)
		last = one.At.To
	}
	return append(dst, doc[last:]...)
}

// AppendPart appends a span of the document with the replacements inside of it. All replacements must be inside of it.
func (e *Edits) AppendPart(dst, doc []byte, at Span) []byte {
	var inside Edits
	for _, one := range e.list[:e.n] {
		inside.Replace(Span{one.At.From - at.From, one.At.To - at.From}, one.With)
	}
	return inside.AppendTo(dst, at.Of(doc))
}

// Reset removes all replacements.
func (e *Edits) Reset() { e.n = 0 }

// Empty reports whether there are no replacements.
func (e *Edits) Empty() bool { return e.n == 0 }

// Full reports whether there is no room for another replacement.
func (e *Edits) Full() bool { return e.n == editsMax }
