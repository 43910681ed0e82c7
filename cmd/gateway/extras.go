package main

import (
	"cmp"
	"slices"
	"strings"

	"umg/app"
	"umg/app/apidocs"
	"umg/app/catalog"
	"umg/app/dialect"
	"umg/app/llm"
)

// extrasOf lists the options of an API style that a model may not offer, for the model guides.
func extrasOf(style llm.Style) []catalog.Extra {
	treatments := map[dialect.ExtraRule]string{
		dialect.ExtraDropped: "left out", dialect.ExtraTool: "left out beside other tools, else refused",
	}
	var list []catalog.Extra
	for _, row := range dialect.Extras(style) {
		list = append(list, catalog.Extra{
			Field: fieldOf(row), What: row.What, Fate: cmp.Or(treatments[row.Rule], "refused"), At: row.At,
			Refused: row.Rule == dialect.ExtraRefused,
			Limited: len(row.Types)+len(row.Except)+len(row.Only)+len(row.Unless) > 0, Free: row.Free, Advice: row.Advice(),
			Words: wordsOf(&row), By: row.By, Meters: row.Meters, Terms: row.Terms, NoFee: row.NoFee,
		})
	}
	return list
}

// wordsOf has the types or values that ask for an extra, as clients write them.
func wordsOf(row *dialect.Extra) []string {
	words := slices.Concat(row.Types, row.Only)
	if member := strings.TrimPrefix(row.At, "tools[]."); len(words) == 0 && row.Rule == dialect.ExtraTool && member != row.At {
		words = []string{member}
	}
	return words
}

// fieldOf is the place of an option in a request, with its types and the values that mean that it is absent.
func fieldOf(row dialect.Extra) string {
	var field strings.Builder
	field.WriteString("`" + row.At + "`")
	for _, limit := range []struct {
		words string
		list  []string
	}{{" of type ", row.Types}, {" but for ", row.Except}, {" like ", row.Only}, {" but for ", row.Free}, {" without ", row.Unless}} {
		var shown []string
		for _, one := range limit.list {
			if one != "" {
				shown = append(shown, "`"+one+"`")
			}
		}
		if len(shown) > 0 {
			field.WriteString(limit.words + strings.Join(shown, ", "))
		}
	}
	return field.String()
}

// modelDocuments writes the documents about models with the rules and the errors of the styles.
func modelDocuments(now app.Clock, baseURL string) *apidocs.Documents {
	return apidocs.New(apidocs.Options{Now: now, BaseURL: baseURL, Traits: dialect.Traits, Extras: extrasOf, Errors: dialect.Error})
}
