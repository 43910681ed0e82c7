package dialect

import "umg/app/dialect/rawjson"

// Change replaces the value of a member of a document by another JSON value, or removes the member when With is empty.
type Change struct {
	// At is the index of the first byte of the value.
	At   int
	With string
}

// Amend returns a copy of a document with changes, which must be in the order of the document. Every other byte is unchanged.
func Amend(doc []byte, changes []Change) []byte {
	w := extraScan{doc: doc}
	w.amend(0, changes)
	return w.without()
}

// amend records the changes inside of the object that begins at an index.
func (w *extraScan) amend(from int, changes []Change) {
	var g gap
	o := rawjson.OpenObject(w.doc, from)
	for (len(changes) > 0 || g.from > 0) && o.Next() {
		inside := 0
		for inside < len(changes) && changes[inside].At < o.Value.To {
			inside++
		}
		switch here := changes[:inside]; {
		case inside == 0:
			w.keep(&g, o.Member)
		case here[0].At != o.Value.From:
			w.keep(&g, o.Member)
			w.amend(o.Value.From, here)
		case here[0].With == "":
			w.drop(&g, o.Member)
		default:
			w.keep(&g, o.Member)
			w.cut(o.Value, here[0].With)
		}
		changes = changes[inside:]
	}
	w.end(&g)
}
