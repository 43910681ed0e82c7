package billing

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/meter"
	"umg/app/postgres"
)

// costsAtOnce is how many records are read at once.
const costsAtOnce = 5_000

// CardLoader reads all cards that have an id: a version of a model's prices has one for each size with prices of its own. It returns
// app.NotFound when there are none.
type CardLoader func(ctx context.Context, id string) ([]RateCard, error)

// CheckCosts computes what every usage record cost from its meters, its terms and the rate card that it names, and what it cost the
// operator from the cost card that it names. A nil loader of cost cards leaves the second out.
func CheckCosts(ctx context.Context, db *sqlx.DB, rateCards, costCards CardLoader) (Check, error) {
	ctx, cancel := context.WithTimeout(ctx, booksMax)
	defer cancel()
	c := costChecker{rates: cardCache{load: rateCards}, costs: cardCache{load: costCards}}
	check := Check{Name: "costs follow from meters and rate cards"}
	var rows []struct {
		UsageRow

		Day time.Time `db:"day"`
	}
	var findings []string
	found, day, id := 0, time.Time{}, ""
	for { // No statement takes long. A record never changes what its cost follows from, so there is no common snapshot.
		rows = rows[:0]
		err := db.SelectContext(ctx, &rows, `select day, `+UsageColumns+` from usage_records
			where day >= $1::date and (day, request_id) > ($1::date, $2) order by day, request_id limit $3`,
			day.Format(time.DateOnly), id, costsAtOnce)
		if err != nil {
			return check, postgres.StoreError("billing: check costs", err)
		}
		if len(rows) == 0 {
			break
		}
		for i := range rows {
			row := &rows[i].UsageRow
			finding, err := c.check(ctx, row)
			if err != nil {
				return check, fmt.Errorf("billing: check costs: request %s: %w", row.RequestID, err)
			}
			if finding == "" {
				continue
			}
			if found++; found <= findingsMax {
				findings = append(findings, fmt.Sprintf("request %s: %s", row.RequestID, finding))
			}
		}
		day, id = rows[len(rows)-1].Day, rows[len(rows)-1].RequestID
	}
	check.Holds, check.Detail = found == 0, strings.Join(findings, "; ")
	if found > len(findings) {
		check.Detail += fmt.Sprintf("; and %d more", found-len(findings))
	}
	return check, nil
}

type costChecker struct{ rates, costs cardCache }

// cardCache keeps the cards that were read. Cards of an id never change.
type cardCache struct {
	load  CardLoader
	cards map[string][]RateCard
}

// get returns the cards of an id, if any.
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

// check returns what is wrong with the costs of a record, or an empty text.
func (c *costChecker) check(ctx context.Context, row *UsageRow) (finding string, err error) {
	r := row.Record()
	if slices.ContainsFunc(row.Meters[min(len(row.Meters), int(meter.Count)):], func(n int64) bool { return n != 0 }) {
		return "it has counts of meters that this version does not know", nil
	}
	finding, err = c.checkPrice(ctx, &r)
	if _, unknown := meter.ParseTerms(row.Terms, r.StartedAt); unknown != nil {
		finding = unknown.Error()
	}
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
	case r.HasFlag(FlagUncharged):
		if total != 0 {
			return fmt.Sprintf("it cost %d nano-dollars, and its account is not charged", total), nil
		}
		return "", nil
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
