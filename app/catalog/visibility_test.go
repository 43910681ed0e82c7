package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"umg/app/llm"
)

// privateFile has one model for all, one for ada and bob, and one for ada alone.
func privateFile(t *testing.T) string {
	t.Helper()
	one := smallFile[strings.Index(smallFile, "  - id: acme/one"):strings.Index(smallFile, "  - id: acme/film")]
	copied := func(id, accounts string) string {
		return strings.NewReplacer("acme/one", id, "name: One", "name: One\n    accounts: "+accounts).Replace(one)
	}
	return smallFile + copied("acme/two", "[acct_ada, acct_bob]") + copied("acme/three", "[acct_ada]\n    aliases: [three]")
}

func TestAccountsSeeTheirModelsAlone(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	b.apply(t, privateFile(t))
	s := b.awaitVersion(t, b.c)
	every := []string{"acme/one", "acme/film:fast", "acme/two", "acme/three"}
	for account, want := range map[string][]string{
		"": every[:2], "acct_eve": every[:2], "acct_bob": every[:3], "acct_ada": every,
	} {
		view := s.For(account)
		var ids []string
		for _, m := range view.Models() {
			ids = append(ids, m.ID)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%q sees %v", account, ids)
		}
		for _, id := range every {
			_, found := view.Model(id)
			listed := strings.Contains(string(view.List(nil)), `"id":"`+id+`"`)
			if sees := slices.Contains(want, id); found != sees || listed != (sees && id != "acme/film:fast") {
				t.Errorf("%q finds %s: %v, lists it: %v", account, id, found, listed)
			}
		}
		if _, found := view.Model("three"); found != slices.Contains(want, "acme/three") {
			t.Errorf("%q finds the alias: %v", account, found)
		}
		native, err := view.NativeList(nil, NativePage{Size: 9})
		if err != nil || strings.Contains(string(native), "acme/three") != slices.Contains(want, "acme/three") {
			t.Errorf("%q reads %s, %v", account, native, err)
		}
		fitting, others := view.Fitting(Needs{Style: llm.Chat})
		if n := len(fitting) + len(others); n > len(want) {
			t.Errorf("%q gets %d models for a tool", account, n)
		}
		if view.ETag() != ETag(view.List(nil)) || view != s.For(account) || view.For("acct_ada") != view {
			t.Errorf("the view of %q is made again, or is wider than itself", account)
		}
	}
	if len(s.Models()) != 4 {
		t.Error("the whole catalog lacks models")
	}
	if s.For("acct_eve") != s.For("") {
		t.Error("accounts that no model names do not share what they see")
	}
	exported, err := Export(t.Context(), b.db)
	if err != nil || !slices.Equal(exported.Models[2].Accounts, []string{"acct_ada", "acct_bob"}) {
		t.Errorf("exported %v, %v", exported.Models[2].Accounts, err)
	}
}

func TestACatalogForAllHasOneView(t *testing.T) {
	t.Parallel()
	s := snapshotFrom(t, parse(t, smallFile))
	if s.For("") != s || s.For("acct_ada") != s {
		t.Error("a snapshot without restrictions is copied")
	}
}

// TestListsOfManyAccountsAreNotKept names more accounts than a snapshot keeps lists for: the others get the same list.
func TestListsOfManyAccountsAreNotKept(t *testing.T) {
	t.Parallel()
	f := parse(t, privateFile(t))
	for i := range viewListsMax {
		f.Models[2].Accounts = append(f.Models[2].Accounts, fmt.Sprintf("acct_%d", i))
	}
	s := snapshotFrom(t, f)
	last := s.For(fmt.Sprintf("acct_%d", viewListsMax-1))
	if last.ETag() != "" || string(last.List(nil)) != string(s.For("acct_0").List(nil)) {
		t.Errorf("tag %q, list %s", last.ETag(), last.List(nil))
	}
}

func TestModelsLeadOnlyToWhatTheirAccountsSee(t *testing.T) {
	t.Parallel()
	private := privateFile(t)
	for _, c := range []struct{ model, member, says string }{
		{"acme/one", "fallbacks: [acme/two]", "models[0].fallbacks: acme/two is visible to fewer accounts"},
		{"acme/one", "longer_context: acme/three", "models[0].longer_context: acme/three is visible to fewer accounts"},
		{"acme/two", "fallbacks: [acme/three]", "models[2].fallbacks: acme/three is visible to fewer accounts"},
		{"acme/one", "shutdown: 2030-01-01\n    successor: acme/two", "models[0].successor: acme/two is visible to fewer accounts"},
		{"acme/three", "fallbacks: [acme/two, acme/one]", ""},
		{"acme/two", "fallbacks: [acme/one]", ""},
	} {
		raw := strings.Replace(private, "id: "+c.model+"\n", "id: "+c.model+"\n    "+c.member+"\n", 1)
		var texts []string
		for _, err := range Check(parse(t, raw)) {
			texts = append(texts, err.Error())
		}
		visible := slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "is visible to fewer accounts") })
		if visible != (c.says != "") || c.says != "" && !slices.ContainsFunc(texts, func(s string) bool { return strings.HasPrefix(s, c.says) }) {
			t.Errorf("%s of %s: %q", c.member, c.model, texts)
		}
	}
	for accounts, says := range map[string]string{
		"[bob@example.com]": "is not the id of an account", "[acct_a, acct_a]": "there twice", "[acct_a]": "",
	} {
		all := Check(parse(t, with(t, "name: One", "name: One\n    accounts: "+accounts)))
		if (len(all) == 0) != (says == "") || says != "" && !strings.Contains(all[0].Error(), says) {
			t.Errorf("%s: %v", accounts, all)
		}
	}
	many := parse(t, smallFile)
	for i := range accountsMax + 1 {
		many.Models[0].Accounts = append(many.Models[0].Accounts, fmt.Sprintf("acct_%d", i))
	}
	if all := Check(many); len(all) != 1 || !strings.Contains(all[0].Error(), "1001 accounts are more than 1000") {
		t.Errorf("%v", all)
	}
}
