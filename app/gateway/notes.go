package gateway

import (
	"strings"

	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/meter"
	"umg/billing"
)

// notes say what is special about the charge of a call: how an estimate was made, and what of the usage has no price.
type notes struct {
	// estimate has the words for how the counts were estimated, as a record has them.
	estimate string
	// unpriced means that the provider reported something that no reader or no price knows.
	unpriced bool
	// stated means that the price is the cost that the provider has stated.
	stated bool
}

// The words for how an estimate was made.
const (
	noteBounded       = "usage_bounded"        // What the provider reported was bounded by what is possible.
	noteInputReported = "input_reported"       // The input is what the provider had reported.
	noteInputBySize   = "input_by_size"        // The input was estimated from the size of the request.
	noteOutputFrames  = "output_by_frames"     // The output has a token for each frame of the stream.
	noteOutputBytes   = "output_by_bytes"      // The output was estimated from its length.
	noteAfterCancel   = "after_cancel_unknown" // It is not known whether the provider went on after the client had left.
)

// notesOf returns what is special about a charge.
func (p *pipeline) notesOf(rule billing.Rule, c *charge) (n notes) {
	if !c.charged {
		return n
	}
	stats := p.stats()
	n.stated, n.unpriced = c.stated, !c.counted && (c.usage.Unread || p.funding.hasUnpriced(c)) && !c.stated
	if !rule.Estimated {
		return n
	}
	n.estimate = howEstimated(stats)
	if rule.Outcome == outcomeLeft && p.attempt != nil && isUnknownAfterCancel(p.attempt.route.Provider) {
		n.estimate += " " + noteAfterCancel
	}
	return n
}

// howEstimated says how the counts of an answer were estimated.
func howEstimated(s *dialect.StreamStats) string {
	reported, frames := s.Usage.InputTotal() > 0, countsFrames(s)
	switch {
	case s.Reported:
		return noteBounded
	case reported && frames:
		return noteInputReported + " " + noteOutputFrames
	case reported:
		return noteInputReported + " " + noteOutputBytes
	case frames:
		return noteInputBySize + " " + noteOutputFrames
	}
	return noteInputBySize + " " + noteOutputBytes
}

// hasUnpriced reports whether the provider reported something for which the card has no price.
func (f *funding) hasUnpriced(c *charge) bool {
	counts := c.meters()
	for m := range meter.Count {
		if counts[m] > 0 && m != meter.Requests && !f.card.Prices(m) {
			return true
		}
	}
	return false
}

// flags are the notes as a record has them.
func (n *notes) flags() string {
	words := n.estimate
	if n.unpriced {
		words += " " + billing.FlagUnpriced
	}
	if n.stated {
		words += " " + billing.FlagProviderPrice
	}
	return strings.TrimPrefix(words, " ")
}

// isUnknownAfterCancel reports whether it is not known what a provider does when its connection is closed.
func isUnknownAfterCancel(p *catalog.Provider) bool {
	return p.AfterCancel != catalog.CancelStops && p.AfterCancel != catalog.CancelContinues
}
