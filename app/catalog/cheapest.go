package catalog

import (
	"context"

	"umg/app"
	"umg/app/llm"
)

// Cheapest is the model that answers in the style for the lowest price of output tokens. Examples use it, because users run them.
func (s *Snapshot) Cheapest(style llm.Style) (*Model, bool) {
	var best *Model
	var lowest app.Amount
	for _, m := range s.models {
		price, priced := m.OutputPrice()
		if !m.Available || m.Paused || m.ended(s.loadedAt) || !priced || !m.Serves(style) {
			continue
		}
		if best == nil || price < lowest {
			best, lowest = m, price
		}
	}
	return best, best != nil
}

const millionTokens = 1_000_000

// Reload reads the newest catalog at once, for a caller who has just applied it.
func (c *Catalog) Reload(ctx context.Context) error { return c.reload(ctx) }
