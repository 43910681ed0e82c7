package home

import (
	"testing"

	"umg/views/format"
)

func TestARecipeNamesThePriceOfAModelOnlyWhereThereIsOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ price, label, text string }{
		{
			"$4.00", "a/b · 200,000 context · 32,000 output · $4.00 per 1M output tokens",
			"a/b accepts up to 200,000 tokens of context and answers with up to 32,000 tokens. It costs $4.00 per million output tokens.",
		},
		{
			"", "a/b · 200,000 context · 32,000 output",
			"a/b accepts up to 200,000 tokens of context and answers with up to 32,000 tokens.",
		},
	} {
		m := RecipeModel{ID: "a/b", Context: 200_000, MaxOutput: 32_000, Price: c.price}
		if format.Plain(m.label()) != c.label || format.Plain(m.text()) != c.text {
			t.Errorf("with the price %q: %q, %q", c.price, m.label(), m.text())
		}
	}
}
