package catalog

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"umg/app"
)

func TestSpendCapsAreReadCheckedAndPrinted(t *testing.T) {
	t.Parallel()
	const members = `credential: "${KEY}", credentials: ["sealed:b"], spend: {daily: 50.00, monthly: 1000.5, credentials: {"sealed:b": {daily: 0.000000001}}}`
	f := southAuth(t, members)
	if all := Check(f); len(all) > 0 {
		t.Fatal(all)
	}
	s := f.Providers[1].Spend
	if app.Amount(s.Daily) != 50*app.Dollar || s.Cap("sealed:b").Daily != 1 || s.Cap("${KEY}") != (SpendCap{}) || s.Cap("").Monthly != s.Monthly {
		t.Errorf("caps %+v", s)
	}
	printed, err := f.Bytes()
	if err != nil || !strings.Contains(string(printed), "daily: 50\n") || !reflect.DeepEqual(parse(t, string(printed)), f) {
		t.Errorf("printed as %s, %v", printed, err)
	}
	b := setup(t, lookup)
	b.apply(t, string(printed))
	stored, err := Export(t.Context(), b.db)
	if err != nil || !reflect.DeepEqual(stored, f) {
		t.Errorf("stored as %+v, %v", stored.Providers, err)
	}
	if p, _ := b.awaitVersion(t, b.c).Provider("north"); p.Spend != nil {
		t.Error("a provider without caps has some")
	}
	lines, err := Diff(f, southAuth(t, strings.Replace(members, "50.00", "60", 1)))
	if err != nil || !slices.Equal(lines, []string{"~ provider south spend.daily 50 → 60"}) {
		t.Errorf("diff %q, %v", lines, err)
	}
	for text, path := range map[string]string{
		"spend: {credentials: {'${OTHER}': {daily: 1}}}":               "providers[1].spend.credentials.${OTHER}",
		"credential: '${KEY}', spend: {credentials: {'${KEY}': {}}}":   "providers[1].spend.credentials.${KEY}",
		"credential: '${KEY}', spend: {credentials: {'': {daily: 1}}}": "providers[1].spend.credentials.",
	} {
		if all := Check(southAuth(t, text)); len(all) != 1 || all[0].(FileError).Path != path {
			t.Errorf("%s: %q", text, all)
		}
	}
	for _, text := range []string{"daily: 0", "daily: -1", "monthly: 1e3", "daily: $5", "weekly: 5"} {
		if _, err := ParseFile([]byte(with(t, "name: South", "name: South, spend: {"+text+"}"))); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
