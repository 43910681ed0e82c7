package catalog

import (
	"fmt"
	"strings"
	"testing"

	"umg/app/postgres/pgtest"
)

func TestAModelsPastIsToldWithoutItsRoutes(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	past := &Catalog{db: db}
	dearer := strings.Replace(smallFile, "input_tokens: 0.15 per 1M", "input_tokens: 0.30 per 1M", 1)
	moved := strings.Replace(dearer, "name: One", "name: Eins", 1)
	if dearer == smallFile || moved == dearer {
		t.Fatal("the file has changed")
	}
	for _, text := range []string{smallFile, dearer, moved} {
		if err := Apply(t.Context(), db, parse(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	prices, err := past.PriceHistory(t.Context(), "acme/one", 10)
	if err != nil || len(prices) != 2 {
		t.Fatal(prices, err)
	}
	if now, then := prices[0], prices[1]; now.Prices["input_tokens"].String() != "0.3 per 1M" || then.Prices["input_tokens"].String() != "0.15 per 1M" ||
		now.From.Before(then.From) {
		t.Errorf("%+v", prices)
	}
	changes, err := past.ModelChanges(t.Context(), "acme/one", 10)
	var told []string
	for _, c := range changes {
		told = append(told, fmt.Sprintf("%s %s>%s", c.Field, c.From, c.To))
	}
	if got := strings.Join(told, "; "); err != nil || got != "name One>Eins; rates.input_tokens 0.15 per 1M>0.3 per 1M;  >" {
		t.Errorf("%s, %v", got, err)
	}
	if one, err := past.ModelChanges(t.Context(), "acme/one", 1); err != nil || len(one) != 1 {
		t.Errorf("%+v, %v", one, err)
	}
	for line, public := range map[string]bool{
		"+ model a": true, "- model a": true, "~ model a name A → B": true, "~ model a routes[north x].weight 1 → 2": false,
		"+ model a timeouts.first_byte 5s": false, "+ model a limits.tokens_per_minute 5": true, "~ model a hedge": false, "~ model a name A": false,
	} {
		if _, got := readChange(line); got != public {
			t.Errorf("%q is public: %v", line, got)
		}
	}
}
