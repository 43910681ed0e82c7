package catalog

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"umg/app"
	"umg/app/postgres"
	"umg/billing"
)

// Cards are the prices of a version of a rate card, whether or not it is still in force: first those of the model, then
// those of each size that has its own, by size. Versions are never deleted, so app.NotFound means that there was none.
func (c *Catalog) Cards(ctx context.Context, id string) ([]billing.RateCard, error) {
	return LoadCards(ctx, c.db, id)
}

// LoadCards is Cards without a catalog.
func LoadCards(ctx context.Context, q postgres.Queryer, id string) ([]billing.RateCard, error) {
	var text []byte
	err := q.GetContext(ctx, &text, `select rates from rate_cards where id = $1`, id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, app.Errorf(app.NotFound, "not_found", "There is no such version of a rate card.")
	case err != nil:
		return nil, app.ErrStore(fmt.Errorf("catalog: rate card %s: %w", id, err))
	}
	var m FileModel
	var rates []storedRate
	if err = json.Unmarshal(text, &rates); err == nil {
		err = m.takeRates(rates)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: rate card %s: %w", errUnreadable, id, err)
	}
	all := []Rates{m.Rates}
	for _, size := range sortedKeys(m.SizeRates) {
		all = append(all, m.SizeRates[size])
	}
	var cards []billing.RateCard
	for _, r := range all {
		if len(r) == 0 {
			continue
		}
		card, err := r.card(id)
		if err != nil {
			return nil, fmt.Errorf("%w: rate card %s: %w", errUnreadable, id, err)
		}
		cards = append(cards, card)
	}
	return cards, nil
}
