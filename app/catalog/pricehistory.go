package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"umg/billing"
)

// pastVersionsMax is how many of the newest versions are searched for changes of one model.
const pastVersionsMax = 500

// PastPrices are the prices of a model from a moment until those after them.
type PastPrices struct {
	From       time.Time
	Prices     Rates
	SizePrices map[string]Rates
	// RateCard has the conditions too.
	RateCard billing.RateCard
}

// PriceHistory is the prices that a model has and had, the newest first, at most limit.
func (c *Catalog) PriceHistory(ctx context.Context, id string, limit int) ([]PastPrices, error) {
	var rows []struct {
		ID         string    `db:"id"`
		From       time.Time `db:"valid_from"`
		Rates      []byte    `db:"rates"`
		Conditions []byte    `db:"conditions"`
	}
	err := c.db.SelectContext(ctx, &rows, `
		select id, valid_from, rates, conditions from rate_cards where model_id = $1 order by version desc limit $2`, id, limit)
	if err != nil {
		return nil, historyError(err)
	}
	past := make([]PastPrices, len(rows))
	for i, r := range rows {
		m, err := readCard(r.Rates, r.Conditions)
		if err != nil {
			return nil, fmt.Errorf("catalog: past prices of %s: %w", id, err)
		}
		card, err := newCard(r.ID, m.Rates, m.Conditions)
		if err != nil {
			return nil, fmt.Errorf("catalog: past prices of %s: %w", id, err)
		}
		past[i] = PastPrices{From: r.From.UTC(), Prices: m.Rates, SizePrices: m.SizeRates, RateCard: card}
	}
	return past, nil
}

// ModelChange is one change of a model. From and To are values as in the file, and empty for a value that was absent.
type ModelChange struct {
	At time.Time
	// Field is empty when the model itself was added or removed.
	Field    string
	From, To string
	// Gone means that the model itself was removed.
	Gone bool
}

// publicFields are the fields of a model that every user may see. A part after a point or a bracket belongs to its field.
var publicFields = []string{
	"name", "description", "capabilities", "input", "output", "context_tokens", "max_output_tokens", "styles", "parameters", "ranges",
	"thinking",
	"rates", "size_rates", "conditions", "limits", "availability", "paused", "released", "deprecated", "shutdown", "announced", "successor",
	"fallbacks", "sizes", "seconds", "assets", "aliases",
}

// ModelChanges are the changes of the public fields of a model, the newest first, at most limit.
func (c *Catalog) ModelChanges(ctx context.Context, id string, limit int) ([]ModelChange, error) {
	var rows []struct {
		At   time.Time `db:"applied_at"`
		Line string    `db:"line"`
	}
	err := c.db.SelectContext(ctx, &rows, `
		select h.applied_at, l.line
		from (
			select version, applied_at, changes from catalog_history
			where changes is not null and applied_at is not null order by version desc limit $2
		) h, jsonb_array_elements_text(h.changes) with ordinality l (line, place)
		where split_part(l.line, ' ', 2) = 'model' and split_part(l.line, ' ', 3) = $1
		order by h.version desc, l.place`, id, pastVersionsMax)
	if err != nil {
		return nil, historyError(err)
	}
	var changes []ModelChange
	for _, r := range rows {
		if change, public := readChange(r.Line); public && len(changes) < limit {
			change.At = r.At.UTC()
			changes = append(changes, change)
		}
	}
	return changes, nil
}

// readChange reads a line of Diff about a model.
func readChange(line string) (change ModelChange, public bool) {
	words := strings.SplitN(line, " ", 5)
	switch {
	case len(words) == 3:
		return ModelChange{Gone: words[0] == "-"}, true
	case len(words) < 5:
		return ModelChange{}, false
	}
	field, value := words[3], words[4]
	first := field
	if end := strings.IndexAny(field, ".["); end >= 0 {
		first = field[:end]
	}
	if !slices.Contains(publicFields, first) {
		return ModelChange{}, false
	}
	change.Field = field
	switch words[0] {
	case "+":
		change.To = value
	case "-":
		change.From = value
	default:
		var found bool
		if change.From, change.To, found = strings.Cut(value, " → "); !found {
			return ModelChange{}, false
		}
	}
	return change, true
}
