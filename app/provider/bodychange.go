package provider

import (
	"slices"

	"umg/app/dialect/rawjson"
	"umg/app/preset"
)

// bodyChange is how a provider's request bodies differ from those of the style.
type bodyChange struct {
	// drop lists the members of the style that are not sent.
	drop []string
	// added are the members that are added, each with a comma before it.
	added []byte
	// betas is the name of the member with the trial features. It is empty when there is none.
	betas string
}

func newBodyChange(b *preset.Body) *bodyChange {
	c := &bodyChange{drop: slices.Clone(b.Drop), betas: b.Betas}
	names := make([]string, 0, len(b.Add))
	for name := range b.Add {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		c.added = append(append(c.added, ',', '"'), name...)
		c.added = append(append(c.added, '"', ':'), rawjson.Quote(b.Add[name])...)
	}
	c.drop = append(c.drop, names...)
	if c.betas != "" {
		c.drop = append(c.drop, c.betas) // Only checked features are sent.
	}
	return c
}

// apply changes the body of a payload once. A body that is not an object stays as it is, and the provider refuses it.
func (c *bodyChange) apply(p *Payload, betas []string) {
	if p.changed {
		return
	}
	kept, whole := withoutMembers(p.Data, c.drop)
	if !whole {
		return
	}
	p.changed = true
	end := len(kept) - 1 // The brace at the end comes after the added members.
	added := c.added
	if c.betas != "" && len(betas) > 0 {
		added = c.withBetas(betas)
	}
	if end == 1 && len(added) > 0 {
		added = added[1:]
	}
	p.Data = append(append(kept[:end], added...), '}')
}

// withBetas returns the added members with those of the trial features.
func (c *bodyChange) withBetas(betas []string) []byte {
	added := append(slices.Clone(c.added), ',', '"')
	added = append(append(added, c.betas...), '"', ':', '[')
	for i, name := range betas {
		if i > 0 {
			added = append(added, ',')
		}
		added = append(added, rawjson.Quote(name)...)
	}
	return append(added, ']')
}

// withoutMembers removes members from an object in its own memory. It reports whether the text is an object; if not, nothing is removed.
func withoutMembers(doc []byte, names []string) (kept []byte, whole bool) {
	type span struct{ from, to int }
	var spans [32]span
	list := spans[:0]
	o := rawjson.OpenObject(doc, 0)
	for o.Next() {
		if !slices.Contains(names, string(o.Name())) {
			list = append(list, span{o.Member.From, o.Member.To})
		}
	}
	if !o.IsWhole() {
		return doc, false
	}
	// The kept members move towards the beginning, so that none is overwritten before it is read.
	doc[0] = '{'
	kept = doc[:1]
	for i, s := range list {
		if i > 0 {
			kept = append(kept, ',')
		}
		kept = append(kept, doc[s.from:s.to]...)
	}
	return append(kept, '}'), true
}
