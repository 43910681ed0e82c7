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
	m, err := pastCard(ctx, q, id, `select rates, conditions from rate_cards where id = $1`)
	if err != nil {
		return nil, err
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
		card, err := newCard(id, r, m.Conditions)
		if err != nil {
			return nil, fmt.Errorf("%w: rate card %s: %w", errUnreadable, id, err)
		}
		cards = append(cards, card)
	}
	return cards, nil
}

// CostCard is a version of a cost card, whether or not it is still in force. Versions are never deleted, so app.NotFound means that
// there was none.
func (c *Catalog) CostCard(ctx context.Context, id string) (billing.RateCard, error) {
	return LoadCostCard(ctx, c.db, id)
}

// LoadCostCard reads a cost card without the catalog. It returns an error of kind NotFound for an unknown id.
func LoadCostCard(ctx context.Context, q postgres.Queryer, id string) (billing.RateCard, error) {
	m, err := pastCard(ctx, q, id, `select rates, conditions from cost_cards where id = $1`)
	if err != nil {
		return billing.RateCard{}, err
	}
	card, err := newCard(id, m.Rates, m.Conditions)
	if err != nil {
		return card, fmt.Errorf("%w: cost card %s: %w", errUnreadable, id, err)
	}
	return card, nil
}

func pastCard(ctx context.Context, q postgres.Queryer, id, query string) (FileModel, error) {
	var row struct {
		Rates      []byte `db:"rates"`
		Conditions []byte `db:"conditions"`
	}
	err := q.GetContext(ctx, &row, query, id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return FileModel{}, app.Errorf(app.NotFound, "not_found", "There is no such version of a rate card.")
	case err != nil:
		return FileModel{}, app.ErrStore(fmt.Errorf("catalog: rate card %s: %w", id, err))
	}
	m, err := readCard(row.Rates, row.Conditions)
	if err != nil {
		return m, fmt.Errorf("%w: rate card %s: %w", errUnreadable, id, err)
	}
	return m, nil
}

// readCard reads the columns of a rate card into a model that has nothing else.
func readCard(rates, conditions []byte) (m FileModel, err error) {
	var stored []storedRate
	if err = errors.Join(json.Unmarshal(rates, &stored), json.Unmarshal(conditions, &m.Conditions)); err != nil {
		return m, err
	}
	return m, m.takeRates(stored)
}

// readCost makes the cost of a route from the columns of its card.
func readCost(rates []storedRate, conditions []FileCondition) (*FileCost, error) {
	var m FileModel
	if err := m.takeRates(rates); err != nil {
		return nil, err
	}
	cost := &FileCost{Rates: m.Rates}
	if len(conditions) > 0 {
		cost.Conditions = conditions
	}
	return cost, nil
}

// hasPricesOf reports whether a model that may be nil has the prices of another one.
func (m *FileModel) hasPricesOf(other *FileModel) (bool, error) {
	type prices struct {
		Rates      Rates            `yaml:"rates,omitempty"`
		SizeRates  map[string]Rates `yaml:"size_rates,omitempty"`
		Conditions []FileCondition  `yaml:"conditions,omitempty"`
	}
	if m == nil {
		return false, nil
	}
	return equalParts([]prices{{m.Rates, m.SizeRates, m.Conditions}}, []prices{{other.Rates, other.SizeRates, other.Conditions}})
}

// newCosts are the cost cards that a change of the catalog writes.
type newCosts struct {
	// cards are the new versions.
	cards []storedCost
	// routes are all routes with a known cost.
	routes []string
}

type storedCost struct {
	Route      string          `json:"route"`
	Rates      []storedRate    `json:"rates"`
	Conditions []FileCondition `json:"conditions"`
}

// add adds the costs of the routes of a model. A cost that the model had before keeps its version.
func (n *newCosts) add(m, before *FileModel) error {
	known := map[string]*FileCost{}
	if before != nil {
		for i := range before.Routes {
			known[before.Routes[i].id(m.ID)] = before.Routes[i].Cost
		}
	}
	for i := range m.Routes {
		r := &m.Routes[i]
		if r.Cost == nil {
			continue
		}
		id := r.id(m.ID)
		n.routes = append(n.routes, id)
		if old := known[id]; old != nil {
			same, err := equalParts([]FileCost{*old}, []FileCost{*r.Cost})
			if err != nil {
				return err
			}
			if same {
				continue
			}
		}
		rates, err := r.Cost.Rates.stored("")
		if err != nil {
			return fmt.Errorf("catalog: cost of %s: %w", id, err)
		}
		n.cards = append(n.cards, storedCost{Route: id, Rates: rates, Conditions: append([]FileCondition{}, r.Cost.Conditions...)})
	}
	return nil
}

// write stores the new versions, and makes the newest version of each route the one in force. The routes are written before.
func (n *newCosts) write(ctx context.Context, q postgres.Queryer) error {
	if len(n.routes) == 0 {
		return nil
	}
	err := exec(ctx, q, "write costs", `
		insert into cost_cards (route, version, rates, conditions)
		select e ->> 'route', coalesce((select max(c.version) from cost_cards c where c.route = e ->> 'route'), 0) + 1,
			e -> 'rates', e -> 'conditions'
		from jsonb_array_elements($1::jsonb) e`, asJSON{append([]storedCost{}, n.cards...)})
	if err != nil {
		return err
	}
	return exec(ctx, q, "set costs", `
		update routes r set cost_card = c.id
		from jsonb_array_elements_text($1::jsonb) e
			cross join lateral (select c.id from cost_cards c where c.route = e order by c.version desc limit 1) c
		where r.model_id || '#' || r.provider_id || '/' || r.style || '/' || r.model = e`, asJSON{n.routes})
}
