package catalog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/meter"
	"umg/app/postgres"
	"umg/billing"
)

// FileAnnounced is the prices of a model from the beginning of a day in UTC. They come into force without another apply.
type FileAnnounced struct {
	From      Date             `yaml:"from" json:"from"`
	Rates     Rates            `yaml:"rates" json:"rates"`
	SizeRates map[string]Rates `yaml:"size_rates,omitempty" json:"size_rates,omitempty"`
	// Conditions replace those of the model. Without them, the prices have none from that day on.
	Conditions []FileCondition `yaml:"conditions,omitempty" json:"conditions,omitempty"`
	// Markup is the one that the model has from that day on, beside the prices that it made; zero for none.
	Markup Factor `yaml:"markup,omitempty" json:"markup,omitempty"`
}

// MarshalText prints the price as the file has it.
func (p Price) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a price as the file has it.
func (p *Price) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePrice(string(text))
	return err
}

// PriceChange is prices that were announced.
type PriceChange struct {
	From       time.Time
	Prices     Rates
	SizePrices map[string]Rates
	// RateCard has the conditions too. It has no id, because the version does not exist yet.
	RateCard billing.RateCard
}

// ID identifies the change: other prices for the same day have another id.
func (c *PriceChange) ID() string {
	h := sha256.New()
	write := func(size string, rates Rates) {
		for _, name := range sortedKeys(rates) {
			_, _ = fmt.Fprintf(h, "%s %s %s\n", size, name, rates[name])
		}
	}
	write("", c.Prices)
	for _, size := range sortedKeys(c.SizePrices) {
		write(size, c.SizePrices[size])
	}
	for i := range c.RateCard.Conditions {
		_, _ = fmt.Fprintf(h, "%s\n", ConditionWords(&c.RateCard, i))
	}
	return c.From.Format(time.DateOnly) + "-" + hex.EncodeToString(h.Sum(nil)[:8])
}

// PriceDifference is one price that a change alters. Old is nil for a new price, and New for one that is removed.
type PriceDifference struct {
	// Size is empty for the price of all sizes.
	Meter, Size string
	Old, New    *Price

	// Condition is set in place of the other members for other prices for some calls. It says which, and the texts say what they cost;
	// a text is empty when there is no such condition.
	Condition                  string
	OldCondition, NewCondition string
}

// Differences are the prices of the model that the announced change alters.
func (m *Model) Differences() []PriceDifference {
	if m.Announced == nil {
		return nil
	}
	return differences(
		&priceList{m.Prices, m.SizePrices, &m.RateCard},
		&priceList{m.Announced.Prices, m.Announced.SizePrices, &m.Announced.RateCard}, m.Sizes)
}

// priceList is all prices of a model at one time.
type priceList struct {
	rates     Rates
	sizeRates map[string]Rates
	card      *billing.RateCard
}

// prices are those of a file's model, with those of its markup. A nil model has none.
func (m *FileModel) prices() (*priceList, error) {
	if m == nil {
		return &priceList{card: &billing.RateCard{}}, nil
	}
	priced := *m
	if err := priced.applyMarkup(); err != nil {
		return nil, err
	}
	card, err := newCard("", priced.Rates, priced.Conditions)
	return &priceList{priced.Rates, priced.SizeRates, &card}, err
}

// PriceDifferences are the prices that differ between two states of a model, those of markups included. Old is nil for a new model.
func PriceDifferences(old, next *FileModel) ([]PriceDifference, error) {
	before, errOld := old.prices()
	after, errNext := next.prices()
	if err := errors.Join(errOld, errNext); err != nil {
		return nil, err
	}
	return differences(before, after, next.Sizes), nil
}

// AnnouncedDifferences are the prices that the announced change of a model alters.
func AnnouncedDifferences(m *FileModel) ([]PriceDifference, error) {
	before, err := m.prices()
	if err != nil || m.Announced == nil {
		return nil, err
	}
	change, err := m.Announced.change()
	if err != nil {
		return nil, err
	}
	return differences(before, &priceList{change.Prices, change.SizePrices, &change.RateCard}, m.Sizes), nil
}

// differences compares two price lists of a model with some sizes.
func differences(before, after *priceList, sizes []string) (list []PriceDifference) {
	compare := func(size string, before, after Rates) {
		meters := slices.Collect(maps.Keys(before))
		for name := range after {
			if _, both := before[name]; !both {
				meters = append(meters, name)
			}
		}
		slices.SortFunc(meters, func(a, b string) int { // Rate cards have the same order.
			x, _ := meter.Parse(a)
			y, _ := meter.Parse(b)
			return int(x) - int(y)
		})
		for _, name := range meters {
			d := PriceDifference{Meter: name, Size: size}
			if p, has := before[name]; has {
				d.Old = &p
			}
			if p, has := after[name]; has {
				d.New = &p
			}
			if d.Old == nil || d.New == nil || *d.Old != *d.New {
				list = append(list, d)
			}
		}
	}
	compare("", before.rates, after.rates)
	for _, size := range sizes {
		compare(size, before.sizeRates[size], after.sizeRates[size])
	}
	return append(list, conditionDifferences(before.card, after.card)...)
}

// conditionDifferences compares the conditions of two cards by the calls that they are for, in words.
func conditionDifferences(before, after *billing.RateCard) (list []PriceDifference) {
	texts := func(card *billing.RateCard) (names []string, effects map[string]string) {
		effects = map[string]string{}
		for i := range card.Conditions {
			name, effect := conditionParts(card, i)
			if _, known := effects[name]; known {
				effect = effects[name] + "; " + effect
			} else {
				names = append(names, name)
			}
			effects[name] = effect
		}
		return names, effects
	}
	oldNames, oldEffects := texts(before)
	newNames, newEffects := texts(after)
	for _, name := range newNames {
		if !slices.Contains(oldNames, name) {
			oldNames = append(oldNames, name)
		}
	}
	for _, name := range oldNames {
		if oldEffects[name] != newEffects[name] {
			list = append(list, PriceDifference{Condition: name, OldCondition: oldEffects[name], NewCondition: newEffects[name]})
		}
	}
	return list
}

func (a *FileAnnounced) change() (*PriceChange, error) {
	card, err := newCard("", a.Rates, a.Conditions)
	return &PriceChange{From: time.Time(a.From), Prices: a.Rates, SizePrices: a.SizeRates, RateCard: card}, err
}

// checkAnnounced checks announced prices as if they were in force.
func (m *FileModel) checkAnnounced(p problems) {
	a := m.Announced
	switch {
	case a == nil:
		return
	case len(m.Rates) == 0 && m.Markup == 0:
		p.addf("announced", "the model has no prices that could change")
	case len(a.Rates) == 0:
		p.addf("announced.rates", "is missing")
	case a.From.IsZero():
		p.addf("announced.from", "is missing")
	case a.Markup < 0 || a.Markup > markupMax:
		p.addf("announced.markup", "%s is not between 0 and %s", a.Markup, markupMax)
	}
	m.checkMeters(p, checkCard(p, "announced.rates", a.Rates, "announced.conditions", a.Conditions))
	m.checkSizeRates(p, "announced.", a.Rates, a.SizeRates, a.Conditions)
}

// withDuePrices is the file with the announced prices in force whose day has come, so that an old file can be applied again.
func (f File) withDuePrices(now time.Time) File {
	f.Models = slices.Clone(f.Models)
	for i := range f.Models {
		m := &f.Models[i]
		if a := m.Announced; a != nil && !now.Before(time.Time(a.From)) {
			m.Rates, m.SizeRates, m.Conditions, m.Markup, m.Announced = a.Rates, a.SizeRates, a.Conditions, a.Markup, nil
		}
	}
	return f
}

// pricesDue reports whether announced prices are to come into force.
func (s *Snapshot) pricesDue(now time.Time) bool {
	return slices.ContainsFunc(s.Models(), func(m *Model) bool { return m.Announced != nil && !now.Before(m.Announced.From) })
}

// applyDuePrices puts announced prices in force whose day has come. Any number of replicas may call it: the first makes the change.
func applyDuePrices(ctx context.Context, db *sqlx.DB) error {
	_, err := replace(ctx, db, HistoryAction{Note: "Announced prices came into force."}, func(old stored, readable bool) (File, error) {
		if !readable {
			return File{}, errUnreadable
		}
		return old.file, nil
	})
	return err
}

// replace makes one change to the catalog in force, and returns the version that is in force after it. Changes are serialized: the
// second sees the result of the first.
func replace(
	ctx context.Context, db *sqlx.DB, d HistoryAction, next func(old stored, readable bool) (File, error),
) (inForce int64, err error) {
	err = postgres.InTx(ctx, db, func(tx *sqlx.Tx) error {
		// An operator waits for it, so it may take longer than a request.
		if err := exec(ctx, tx, "wait", `set local statement_timeout = '60s'`); err != nil {
			return err
		}
		if err := exec(ctx, tx, "lock", `select from catalog_settings for update`); err != nil {
			return err
		}
		// A catalog that cannot be read is replaced as a whole, so that a good file can repair it.
		old, err := load(ctx, tx)
		if err != nil && !errors.Is(err, errUnreadable) {
			return err
		}
		readable := err == nil
		f, err := next(old, readable)
		if err != nil {
			return err
		}
		var now time.Time
		if err := tx.GetContext(ctx, &now, `select now()`); err != nil {
			return fmt.Errorf("catalog: read the time: %w", err)
		}
		f = f.withDuePrices(now)
		inForce = old.version
		if same, err := equal(f, old.file); same || err != nil {
			return err
		}
		if err := write(ctx, tx, f, old.file); err != nil {
			return err
		}
		if inForce, err = version(ctx, tx); err != nil {
			return err
		}
		return writeHistory(ctx, tx, d, f, old, readable)
	})
	return inForce, err
}

// Subject is what the price is for, in words: "Input tokens".
func (d PriceDifference) Subject() string {
	if d.Condition != "" {
		return d.Condition
	}
	text := strings.ReplaceAll(d.Meter, "_", " ")
	text = strings.ToUpper(text[:1]) + text[1:]
	if d.Size != "" {
		text += " at " + d.Size
	}
	return text
}

// NewText is the new price alone, in words: "Input tokens: $0.2 per 1M".
func (d PriceDifference) NewText() string {
	switch {
	case d.Condition != "":
		return d.Condition + ": " + cmp.Or(d.NewCondition, "no other price")
	case d.New == nil:
		return d.Subject() + ": not charged"
	}
	return d.Subject() + ": $" + d.New.String()
}

// String describes the difference for users: "Input tokens: $0.15 per 1M → $0.2 per 1M".
func (d PriceDifference) String() string {
	if d.Condition != "" {
		return d.Condition + ": " + cmp.Or(d.OldCondition, "no other price") + " → " + cmp.Or(d.NewCondition, "no other price")
	}
	side := func(p *Price) string {
		switch {
		case p != nil:
			return "$" + p.String()
		case d.Size != "":
			return "as at other sizes"
		}
		return "not charged"
	}
	return d.Subject() + ": " + side(d.Old) + " → " + side(d.New)
}
