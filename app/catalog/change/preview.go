package change

import (
	"errors"
	"reflect"
	"time"

	"umg/app/catalog"
)

// Changes is what a change of the catalog does, for an operator to read before it is made.
type Changes struct {
	// Problems are why the file cannot come into force; the other members may be empty then.
	Problems []catalog.FileError
	// Diff has a line for each change of the file, as catalog.Diff has it.
	Diff []string
	// BelowCost has a line for each price that is below the cost of a route.
	BelowCost []string
	// New are the models that customers see from then on, and Gone the ids of those that they do not see any more.
	New  []NewModel
	Gone []string
	// Prices are the changes of prices that customers see, those that are announced too.
	Prices []PriceLine
}

// NewModel is a model that customers see for the first time.
type NewModel struct {
	ID, Name string
	// Accounts are the only accounts that see it; empty means all.
	Accounts []string
	// Prices are its prices in words.
	Prices []string
}

// PriceLine is one price of a model that changes, in words.
type PriceLine struct {
	Model, Text string
	// From is the day of an announced price, and empty for one that changes at once.
	From string
}

// Preview compares a file with the one that is to replace it.
func Preview(old, next catalog.File) (Changes, error) {
	var c Changes
	for _, err := range catalog.Check(next) {
		if problem, ok := errors.AsType[catalog.FileError](err); ok {
			c.Problems = append(c.Problems, problem)
		}
	}
	if len(c.Problems) > 0 {
		return c, nil
	}
	var err error
	if c.Diff, err = catalog.Diff(old, next); err != nil {
		return c, err
	}
	c.BelowCost = catalog.BelowCost(next)
	return c, c.compareModels(old, next)
}

// compareModels adds the models and prices that customers see differently.
func (c *Changes) compareModels(old, next catalog.File) error {
	before, after := modelsByID(old), modelsByID(next)
	for i := range old.Models {
		if id := old.Models[i].ID; after[id] == nil {
			c.Gone = append(c.Gone, id)
		}
	}
	for i := range next.Models {
		m := &next.Models[i]
		known := before[m.ID]
		changed, err := catalog.PriceDifferences(known, m)
		if err != nil {
			return err
		}
		if known == nil {
			c.New = append(c.New, NewModel{ID: m.ID, Name: m.Name, Accounts: m.Accounts, Prices: newTexts(changed)})
		} else {
			c.addPrices(m.ID, "", changed)
		}
		if m.Announced == nil || known != nil && reflect.DeepEqual(known.Announced, m.Announced) {
			continue
		}
		if changed, err = catalog.AnnouncedDifferences(m); err != nil {
			return err
		}
		c.addPrices(m.ID, time.Time(m.Announced.From).Format(time.DateOnly), changed)
	}
	return nil
}

func modelsByID(f catalog.File) map[string]*catalog.FileModel {
	all := make(map[string]*catalog.FileModel, len(f.Models))
	for i := range f.Models {
		all[f.Models[i].ID] = &f.Models[i]
	}
	return all
}

func newTexts(changed []catalog.PriceDifference) (texts []string) {
	for _, d := range changed {
		texts = append(texts, d.NewText())
	}
	return texts
}

func (c *Changes) addPrices(model, from string, changed []catalog.PriceDifference) {
	for _, d := range changed {
		c.Prices = append(c.Prices, PriceLine{Model: model, Text: d.String(), From: from})
	}
}
