package billing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/meter"
	"umg/app/postgres"
)

// CardLoader reads all cards that have an id: a version of a model's prices has one for each size with prices of its own. It returns
// app.NotFound when there are none.
type CardLoader func(ctx context.Context, id string) ([]RateCard, error)

// CheckCosts computes what every usage record cost from its meters, its terms and the rate card that it names, and what it cost the
// operator from the cost card that it names. A nil loader of cost cards leaves the second out. It reads every record, so a large ledger
// needs a pool without a statement timeout, and with two connections at least.
func CheckCosts(ctx context.Context, db *sqlx.DB, rateCards, costCards CardLoader) (Check, error) {
	ctx, cancel := context.WithTimeout(ctx, booksMax)
	defer cancel()
	c := costChecker{rates: cardCache{load: rateCards}, costs: cardCache{load: costCards}}
	if err := c.readAll(ctx, db); err != nil {
		return Check{}, postgres.StoreError("billing: check costs", err)
	}
	slices.Sort(c.findings)
	check := Check{Name: "costs follow from meters and rate cards", Holds: c.found == 0, Detail: strings.Join(c.findings, "; ")}
	if more := c.found - len(c.findings); more > 0 {
		check.Detail += fmt.Sprintf("; and %d more", more)
	}
	return check, nil
}

type costChecker struct {
	rates, costs cardCache
	findings     []string
	found        int
}

// cardCache keeps the cards that were read. Cards of an id never change.
type cardCache struct {
	load  CardLoader
	cards map[string][]RateCard
}

// get returns the cards of an id; none when there are none.
func (c *cardCache) get(ctx context.Context, id string) ([]RateCard, error) {
	if cards, known := c.cards[id]; known {
		return cards, nil
	}
	cards, err := c.load(ctx, id)
	if err != nil && app.KindOf(err) != app.NotFound {
		return nil, fmt.Errorf("card %s: %w", id, err)
	}
	if c.cards == nil {
		c.cards = map[string][]RateCard{}
	}
	c.cards[id] = cards
	return cards, nil
}

func (c *costChecker) readAll(ctx context.Context, db *sqlx.DB) (err error) {
	rows, err := db.QueryxContext(ctx, `select `+UsageColumns+` from usage_records`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var row UsageRow
		if err := rows.StructScan(&row); err != nil {
			return err
		}
		finding, err := c.check(ctx, &row)
		if err != nil {
			return err
		}
		if finding == "" {
			continue
		}
		c.found++
		if len(c.findings) < findingsMax {
			c.findings = append(c.findings, fmt.Sprintf("request %s: %s", row.RequestID, finding))
		}
	}
	return rows.Err()
}

// check returns what is wrong with the costs of a record, or an empty text.
func (c *costChecker) check(ctx context.Context, row *UsageRow) (finding string, err error) {
	r := row.Record()
	if slices.ContainsFunc(row.Meters[min(len(row.Meters), int(meter.Count)):], func(n int64) bool { return n != 0 }) {
		return "it has counts of meters that this version does not know", nil
	}
	if _, err := meter.ParseTerms(row.Terms, r.StartedAt); err != nil {
		return err.Error(), nil
	}
	finding, err = c.checkPrice(ctx, &r)
	if finding != "" || err != nil || c.costs.load == nil || r.UpstreamCost == nil || r.CostCardID == "" {
		return finding, err
	}
	cards, err := c.costs.get(ctx, r.CostCardID)
	if err != nil {
		return "", err
	}
	if computed, match := costBy(cards, &r, *r.UpstreamCost); !match {
		return fmt.Sprintf("it cost the operator %d nano-dollars, %s by cost card %s", *r.UpstreamCost, computed, r.CostCardID), nil
	}
	return "", nil
}

// checkPrice compares the cost and the overrun with the price of the meters. They are less only where the price was bounded by what was
// held for the model that answered.
func (c *costChecker) checkPrice(ctx context.Context, r *UsageRecord) (finding string, err error) {
	total := r.Cost + r.Overrun
	switch {
	case r.HasFlag(FlagProviderPrice):
		if r.ProviderCost == nil || *r.ProviderCost != total {
			return fmt.Sprintf("it cost %d nano-dollars, which is not the cost that the provider stated", total), nil
		}
		return "", nil
	case r.RateCardID == "" && total == 0:
		return "", nil
	case r.RateCardID == "":
		return fmt.Sprintf("it cost %d nano-dollars, and names no rate card", total), nil
	}
	cards, err := c.rates.get(ctx, r.RateCardID)
	if err != nil {
		return "", err
	}
	bounded := r.Overrun == 0 && (r.Reason == string(ReasonOverrun) || r.Estimated)
	for i := range cards {
		if cost, err := cards[i].Cost(r.Usage, r.Terms); bounded && err == nil && cost > total {
			return "", nil
		}
	}
	if computed, match := costBy(cards, r, total); !match {
		return fmt.Sprintf("it cost %d nano-dollars, %s by rate card %s", total, computed, r.RateCardID), nil
	}
	return "", nil
}

// costBy reports whether one of the cards gives a cost, and describes what they give otherwise.
func costBy(cards []RateCard, r *UsageRecord, want app.Amount) (computed string, match bool) {
	if len(cards) == 0 {
		return "and there are no prices", false
	}
	var all []string
	for i := range cards {
		cost, err := cards[i].Cost(r.Usage, r.Terms)
		if err != nil {
			all = append(all, err.Error())
			continue
		}
		if cost == want {
			return "", true
		}
		all = append(all, fmt.Sprintf("%d", cost))
	}
	return "and its meters cost " + strings.Join(all, " or "), false
}
