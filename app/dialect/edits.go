package dialect

// editsMax is more than any splice makes.
const editsMax = 8

// edits are replacements in a document. Everything between them stays byte for byte.
type edits struct {
	list [editsMax]edit
	n    int
}

type edit struct {
	at   span
	with string
}

// replace notes that a stretch of the document becomes with. Stretches must not overlap; an empty stretch inserts.
func (e *edits) replace(at span, with string) {
	i := e.n
	for ; i > 0; i-- {
		before := e.list[i-1].at
		if before.from < at.from || before.from == at.from && (at.from < at.to || before.from == before.to) {
			break
		}
		e.list[i] = e.list[i-1]
	}
	e.list[i] = edit{at, with}
	e.n++
}

// insert notes that with goes in before the byte at.
func (e *edits) insert(at int, with string) { e.replace(span{at, at}, with) }

// append appends the document with all replacements made.
func (e *edits) append(dst, doc []byte) []byte {
	last := 0
	for _, one := range e.list[:e.n] {
		dst = append(dst, doc[last:one.at.from]...)
		dst = append(dst, one.with...)
		last = one.at.to
	}
	return append(dst, doc[last:]...)
}

// appendPart appends a stretch of the document with the replacements inside of it made.
func (e *edits) appendPart(dst, doc []byte, at span) []byte {
	var inside edits
	for _, one := range e.list[:e.n] {
		inside.replace(span{one.at.from - at.from, one.at.to - at.from}, one.with)
	}
	return inside.append(dst, at.of(doc))
}

// reset removes all replacements.
func (e *edits) reset() { e.n = 0 }

// empty reports whether there are no replacements.
func (e *edits) empty() bool { return e.n == 0 }

// full reports whether there is no room for another replacement.
func (e *edits) full() bool { return e.n == editsMax }
