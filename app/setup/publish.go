package setup

import (
	"context"
	"errors"
	"strings"
	"time"

	"umg/app"
	"umg/app/catalog"
	"umg/app/catalog/change"
	"umg/app/dialect"
	"umg/app/library"
	"umg/app/provider"
	"umg/app/provider/check"
	"umg/app/provider/modellist"
)

const (
	// listTimeMax bounds the reading of the models of one provider.
	listTimeMax = 15 * time.Second
	// AtCost is the markup that makes prices equal to costs.
	AtCost catalog.Factor = 10_000
)

// Offer is what a found provider has that can be published.
type Offer struct {
	Found
	// Choices are the models of the library that have a price, and that the provider lists where its list was read.
	Choices []library.Choice
	// Unpriced is how many models the provider lists that the library cannot price.
	Unpriced int
	// Listed says that the provider's list of models was read.
	Listed bool
	// Problem is why the list was not read, and Advice what to do about it. They are empty for a provider that answered, and for one that
	// has no list.
	Problem, Advice string
	// ProviderWords is what the provider said about the problem, without anything that looks like a credential.
	ProviderWords string
}

// Look reads the models of a provider. It never fails: an offer of a provider that did not answer has all models of the library.
func (s *Service) Look(ctx context.Context, f Found) Offer {
	o := Offer{Found: f}
	listed, err := s.list(ctx, f)
	fault, isFault := errors.AsType[*provider.Fault](err)
	switch {
	case isFault:
		a := check.AdviceOn(fault, check.StepList)
		o.Problem, o.Advice, o.ProviderWords = a.Found, a.Advice, fault.ProviderWords()
	case errors.Is(err, modellist.ErrNone):
	case err != nil:
		o.Problem, o.Advice = err.Error(), "Set the variables of the provider, and try again."
	default:
		o.Listed = true
	}
	known, err := library.Load(ctx, s.o.DB)
	if err != nil {
		known = library.Embedded()
	}
	choices, err := known.ChoicesFor(f.Provider, listed)
	if err != nil {
		o.Problem, o.Advice = err.Error(), "Choose models on the page Operator → Providers."
	}
	for _, c := range choices {
		if c.Priced {
			o.Choices = append(o.Choices, c)
		} else {
			o.Unpriced++
		}
	}
	return o
}

// list reads the list of models of a provider that is not in the catalog.
func (s *Service) list(ctx context.Context, f Found) ([]modellist.Model, error) {
	snapshot, err := catalog.NewDraftSnapshot(
		catalog.File{Providers: []catalog.FileProvider{f.Provider}},
		&catalog.Sources{Env: s.o.Env, CheckValue: s.o.CheckValue}, catalog.Options{Now: s.o.Now, Traits: dialect.Traits},
	)
	if err != nil {
		return nil, err
	}
	p := snapshot.Providers()[0]
	if p.Unusable != "" {
		return nil, errors.New(p.Unusable)
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeMax)
	defer cancel()
	return modellist.Read(ctx, s.o.Providers, p, nil)
}

// Published is what Publish has added.
type Published struct{ Providers, Models int }

// Publish adds providers with their models to the catalog, at their costs times a markup. A provider that the catalog has is left alone,
// with its models. A model of several providers gets a route to each, in the order of the offers.
func (s *Service) Publish(
	ctx context.Context, by catalog.HistoryAction, offers []Offer, markup catalog.Factor,
) (done Published, err error) {
	by.BelowCost = true // A further provider of a model may cost more than the first one, whose cost makes the price.
	_, err = catalog.Edit(ctx, s.o.DB, by, 0, func(file catalog.File) (catalog.File, error) {
		done = Published{}
		had := len(file.Models)
		for _, o := range offers {
			if hasProvider(file, o.Provider.ID) {
				continue
			}
			var err error
			if file, err = change.AddProvider(file, o.Provider); err != nil {
				return file, err
			}
			models := make([]catalog.FileModel, len(o.Choices))
			for i, c := range o.Choices {
				models[i] = c.FileModel(o.Provider.ID, 1, markup)
			}
			if file, err = change.AddModels(file, models); err != nil {
				return file, err
			}
			done.Providers++
		}
		done.Models = len(file.Models) - had
		return file, nil
	})
	if err != nil {
		return Published{}, err
	}
	return done, s.o.Catalog.Reload(ctx)
}

func hasProvider(f catalog.File, id string) bool {
	for i := range f.Providers {
		if f.Providers[i].ID == id {
			return true
		}
	}
	return false
}

// markupPercentMax bounds a markup that a person types.
const markupPercentMax = 9_900

// ParseMarkup reads a markup as people write it, such as 10% or 7.5, with at most two decimals. The result is the factor of prices.
func ParseMarkup(text string) (catalog.Factor, error) {
	number := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "%"))
	percent, err := app.ParseAmount(number)
	if err != nil || percent < 0 || percent > markupPercentMax*app.Dollar || percent%app.Cent != 0 {
		return 0, app.InvalidValue("markup",
			"The markup is a percentage from 0%% to %d%% with at most two decimals, such as 10%%.", markupPercentMax)
	}
	return AtCost + catalog.Factor(percent/app.Cent), nil
}

// Has reports whether the catalog in force has a provider.
func (s *Service) Has(id string) bool {
	_, has := s.o.Catalog.Snapshot().Provider(id)
	return has
}
