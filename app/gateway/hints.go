package gateway

import (
	"cmp"
	"slices"
	"strings"

	"umg/app"
	"umg/app/catalog"
	"umg/app/dialect"
)

// effortField is the member of the messages style that names an effort.
const effortField = "output_config.effort"

// removeHints removes the hints that the model does not support from the request, or replaces their values by the nearest ones that it
// supports. It keeps the maximum output of the request, since that is lowered later in the upstream request.
func (b *requestBuilder) removeHints(hints []catalog.Hint) error {
	if len(hints) == 0 {
		return nil
	}
	c := b.call
	var changes []dialect.Change
	c.removed = slices.Clone(c.removed)
	for i := range hints {
		h := &hints[i]
		listed := []string{h.Listed()}
		switch {
		case h.Thinking:
			output := cmp.Or(max(c.model.MaxOutputTokens, 0), outputStandard)
			if c.head.MaxTokens > 0 {
				output = min(output, c.head.MaxTokens)
			}
			fit := dialect.FitThinking(c.request.Body, &c.model.Thinking, output)
			changes = append(changes, fit.Changes...)
			listed, c.effortAdded = fit.Listed, c.effortAdded || fit.EffortAdded
		case c.effortAdded && h.Field == effortField:
			changes = append(changes, dialect.Change{At: h.At, With: h.Instead})
			listed = nil
		case !h.Bound:
			changes = append(changes, dialect.Change{At: h.At, With: h.Instead})
		}
		for _, one := range listed {
			c.listHint(one)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	slices.SortFunc(changes, func(a, b dialect.Change) int { return a.At - b.At })
	if err := b.reserve(1); err != nil {
		return err
	}
	return b.replaceBody(dialect.Amend(c.request.Body, changes))
}

// listHint adds a changed hint to the list. If the hint was already changed for a model that did not answer, its entry is replaced by
// one with the value that the client sent. If it has that value again, its entry is removed.
func (c *call) listHint(listed string) {
	field, values, _ := strings.Cut(listed, "=")
	_, now, _ := strings.Cut(values, "->")
	for i, earlier := range c.removed {
		name, change, _ := strings.Cut(earlier, "=")
		if name != field && !strings.HasPrefix(name, field+".") {
			continue
		}
		c.removed = slices.Delete(c.removed, i, i+1)
		sent, _, changed := strings.Cut(change, "->")
		if changed && now == sent {
			return
		}
		if changed && now != "" {
			listed = field + "=" + sent + "->" + now
		}
		break
	}
	c.removed = append(c.removed, listed)
}

// replaceBody replaces the request of the call by a changed one.
func (b *requestBuilder) replaceBody(body []byte) error {
	c := b.call
	head, err := c.dialect.PeekAllowing(body, c.model.Extras(c.request.Style))
	if err != nil {
		return app.Errorf(app.Internal, "internal_error", "The request could not be prepared.").Because(err)
	}
	c.request.Body, c.head, b.decoded, b.bare = body, head, nil, nil
	return nil
}
