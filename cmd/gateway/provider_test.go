package main

import (
	"bytes"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/catalog"
	"umg/app/postgres/pgtest"
	"umg/app/provider"
	"umg/app/provider/check"
	"umg/app/provider/credentialstore"
	"umg/app/simulator/emulator"
)

// providerBench is a database, emulated providers, and a terminal whose operator gives one answer to all questions.
type providerBench struct {
	t      *testing.T
	db     *sqlx.DB
	flags  databaseFlags
	base   string
	tools  *providerTools
	out    bytes.Buffer
	answer bool
	asked  int
}

func newProviderBench(t *testing.T) *providerBench {
	t.Helper()
	b := &providerBench{t: t, db: pgtest.New(t), answer: true}
	b.flags = databaseFlags{DatabaseURL: pgtest.DSN(t, b.db), Data: t.TempDir()}
	upstream := httptest.NewServer(emulator.New(emulator.Options{Now: time.Now, Random: rand.Reader}))
	t.Cleanup(upstream.Close)
	b.base = upstream.URL + "/openai/v1"
	b.tools = &providerTools{client: provider.New(provider.Options{}), log: slog.New(slog.DiscardHandler), stdin: strings.NewReader("")}
	t.Cleanup(b.tools.client.Close)
	return b
}

// do runs a command, and returns what it prints.
func (b *providerBench) do(command func(*database, *terminal) error) (string, error) {
	b.t.Helper()
	b.out.Reset()
	t := &terminal{out: &b.out, confirm: func(string) (bool, error) {
		b.asked++
		return b.answer, nil
	}}
	err := withDatabase(b.t.Context(), b.flags, b.tools.log, func(s *database) error { return command(s, t) })
	return b.out.String(), err
}

// add adds the emulated OpenAI.
func (b *providerBench) add(change ...func(*providerAdd)) (string, error) {
	b.t.Helper()
	c := providerAdd{Preset: "openai", BaseURL: b.base, Models: []string{modelsAll}, Markup: "10%"}
	c.databaseFlags = b.flags
	for _, f := range change {
		f(&c)
	}
	b.tools.stdin = strings.NewReader(emulator.Key("openai") + "\n")
	return b.do(func(s *database, t *terminal) error { return c.add(b.t.Context(), s, t, b.tools) })
}

func (b *providerBench) file() catalog.File {
	b.t.Helper()
	f, err := catalog.Export(b.t.Context(), b.db)
	if err != nil {
		b.t.Fatal(err)
	}
	return f
}

func (b *providerBench) credentials() []credentialstore.Credential {
	b.t.Helper()
	var all []credentialstore.Credential
	_, err := b.do(func(s *database, _ *terminal) error {
		store, err := credentialStore(b.t.Context(), s, "", b.tools.log)
		if err != nil {
			return err
		}
		all, err = store.List(b.t.Context())
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return all
}

func says(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestProviderAddTestsAndPublishes(t *testing.T) {
	t.Parallel()
	b := newProviderBench(t)
	out, err := b.add()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	says(t, out, "passed  list", "passed  call ", "test calls cost you $", "+ provider openai", "+ model openai/gpt-5-mini",
		"new: openai/gpt-5-mini (Input tokens: $0.275 per 1M, ", "The changes are in force.")
	if strings.Contains(out, emulator.Key("openai")) {
		t.Error("the key is printed")
	}
	f := b.file()
	if len(f.Providers) != 1 || f.Providers[0].Credential != "sealed:openai" || len(f.Models) != 2 || f.Models[0].Markup != 11_000 || b.asked != 1 {
		t.Errorf("%+v, asked %d", f, b.asked)
	}
	if all := b.credentials(); len(all) != 1 || all[0].Name != "openai" || !strings.HasSuffix(emulator.Key("openai"), all[0].LastFour) {
		t.Errorf("%+v", all)
	}
	sums, err := check.NewStore(b.db).Sum(t.Context(), time.Now(), time.Now(), "openai")
	if err != nil || len(sums) != 1 || sums[0].Calls == 0 || sums[0].Cost == 0 {
		t.Errorf("test calls: %+v, %v", sums, err)
	}
	// The same models of a second provider are further routes, and prices stay.
	out, err = b.add(func(c *providerAdd) { c.ID, c.Markup, c.Yes = "openai-2", "50%", true })
	if err != nil || b.asked != 1 {
		t.Fatalf("%v, asked %d", err, b.asked)
	}
	if strings.Contains(out, "Customers will see") {
		t.Errorf("customers are told of a second route: %s", out)
	}
	if m := b.file().Models[0]; len(m.Routes) != 2 || m.Routes[1].Provider != "openai-2" || m.Routes[1].Order != 2 || m.Markup != 11_000 {
		t.Errorf("%+v", m)
	}
}

func TestProviderAddChangesNothingUnlessItIsRightAndConfirmed(t *testing.T) {
	t.Parallel()
	b := newProviderBench(t)
	for want, set := range map[string]func(*providerAdd){
		`PRESET: "open" is not one of `:      func(c *providerAdd) { c.Preset = "open" },
		"--markup: \"10\" has no percent":    func(c *providerAdd) { c.Markup = "10" },
		"--markup: \"-1%\" is not":           func(c *providerAdd) { c.Markup = "-1%" },
		"--markup: \"1.001%\" is not":        func(c *providerAdd) { c.Markup = "1.001%" },
		"--with regio: ":                     func(c *providerAdd) { c.Preset, c.With = "bedrock", map[string]string{"regio": "x"} },
		"two places of the key":              func(c *providerAdd) { c.KeyEnv, c.KeyFile = "A", "b" },
		"the variable UMG_TEST_NONE is not":  func(c *providerAdd) { c.KeyEnv = "UMG_TEST_NONE" },
		`--models: preset openai has no mod`: func(c *providerAdd) { c.Models = []string{"claude-9"} },
		"providers[0].id":                    func(c *providerAdd) { c.ID, c.Models = "Not An ID", nil },
		"the test of openai failed":          func(c *providerAdd) { c.Models, c.BaseURL = nil, b.base+"/nothing" },
		"the list of models of openai":       func(c *providerAdd) { c.BaseURL = b.base + "/nothing" },
	} {
		if out, err := b.add(set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v\n%s", want, err, out)
		}
	}
	b.answer = false
	if out, err := b.add(); err == nil || err.Error() != "nothing was changed" || !strings.Contains(out, "+ provider openai") {
		t.Errorf("%v\n%s", err, out)
	}
	if f := b.file(); len(f.Providers)+len(f.Models)+len(b.credentials()) > 0 {
		t.Errorf("something was changed: %+v, %v", f, b.credentials())
	}
	b.answer = true
	if _, err := b.add(func(c *providerAdd) { c.SkipTest, c.Models = true, []string{modelsNone} }); err != nil {
		t.Error(err)
	}
	if _, err := b.add(); err == nil || !strings.Contains(err.Error(), "--id: ") {
		t.Errorf("the id twice: %v", err)
	}
}

func TestProviderAddWithAWrongKeySaysWhatTheProviderSays(t *testing.T) {
	t.Parallel()
	b := newProviderBench(t)
	c := providerAdd{Preset: "openai", BaseURL: b.base, Markup: "0%"}
	c.databaseFlags, b.tools.stdin = b.flags, strings.NewReader("wrong-key")
	out, err := b.do(func(s *database, t *terminal) error { return c.add(b.t.Context(), s, t, b.tools) })
	if err == nil || !strings.Contains(err.Error(), "--skip-test") {
		t.Errorf("%v", err)
	}
	says(t, out, "failed  ", "The provider says: ")
	if strings.Contains(out, "wrong-key") {
		t.Errorf("the key is printed: %s", out)
	}
	c.Models, b.tools.stdin = []string{modelsAll}, strings.NewReader("wrong-key")
	if _, err := b.do(func(s *database, t *terminal) error { return c.add(b.t.Context(), s, t, b.tools) }); err == nil ||
		!strings.Contains(err.Error(), "the list of models of openai: ") {
		t.Errorf("%v", err)
	}
	b.tools.stdin = strings.NewReader("")
	_, err = b.do(func(s *database, t *terminal) error { return c.add(b.t.Context(), s, t, b.tools) })
	if err == nil || !strings.Contains(err.Error(), "the key is missing: add --key-env") {
		t.Errorf("%v", err)
	}
}

func TestProvidersArePausedTestedListedAndRemoved(t *testing.T) {
	t.Parallel()
	b := newProviderBench(t)
	if _, err := b.add(); err != nil {
		t.Fatal(err)
	}
	b.asked = 0
	flags := editFlags{databaseFlags: b.flags}
	if out, err := b.do(func(s *database, t *terminal) error { return flags.pause(b.t.Context(), s, t, "openai", true) }); err != nil || b.asked > 0 {
		t.Errorf("%v, asked %d: %s", err, b.asked, out)
	}
	var list bytes.Buffer
	if err := printProviders(&list, b.file()); err != nil {
		t.Fatal(err)
	}
	says(t, list.String(), "PROVIDER  PRESET  STATE   CREDENTIALS    ROUTES", "openai    openai  paused  sealed:openai  2")
	test := providerTest{Provider: "openai"}
	test.databaseFlags = b.flags
	out, err := b.do(func(s *database, t *terminal) error { return test.test(b.t.Context(), s, t, b.tools) })
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	says(t, out, "passed  credential", "passed  call ", "test calls cost you $")
	test.Models = []string{"openai/none"}
	_, err = b.do(func(s *database, t *terminal) error { return test.test(b.t.Context(), s, t, b.tools) })
	if err == nil || !strings.Contains(err.Error(), "--models: openai/none is not") {
		t.Errorf("%v", err)
	}
	if _, err := b.do(func(s *database, t *terminal) error { return flags.pause(b.t.Context(), s, t, "openai", false) }); err != nil ||
		b.file().Providers[0].Disabled {
		t.Errorf("%v", err)
	}
	if _, err := b.do(func(s *database, t *terminal) error { return flags.pause(b.t.Context(), s, t, "none", false) }); err == nil ||
		!strings.Contains(err.Error(), `no provider with the id "none"`) {
		t.Errorf("%v", err)
	}
	remove := providerRemove{Provider: "openai", editFlags: editFlags{databaseFlags: b.flags}}
	out, err = b.do(func(s *database, t *terminal) error { return remove.remove(b.t.Context(), s, t) })
	if f := b.file(); err != nil || len(f.Providers)+len(f.Models) > 0 || b.asked != 1 {
		t.Errorf("%v, %+v", err, f)
	}
	says(t, out, "The route of openai/gpt-5-mini to gpt-5-mini is removed.", "openai/gpt-5-mini has no route left and is retired.",
		"gone: openai/gpt-5-mini", "- provider openai")
}

func TestModelsArePublishedPricedAndRetired(t *testing.T) {
	t.Parallel()
	b := newProviderBench(t)
	if _, err := b.add(func(c *providerAdd) { c.Models = []string{modelsNone} }); err != nil {
		t.Fatal(err)
	}
	publish := modelPublish{Provider: "openai", Models: []string{"gpt-5-mini", "gpt-4o*"}, Accounts: []string{"acct_ada"}}
	publish.databaseFlags, publish.Markup = b.flags, "20%"
	out, err := b.do(func(s *database, t *terminal) error { return publish.publish(b.t.Context(), s, t) })
	if err != nil {
		t.Fatal(err)
	}
	says(t, out, "new: openai/gpt-5-mini (Input tokens: $0.3 per 1M", "for acct_ada")
	f := b.file()
	i := slices.IndexFunc(f.Models, func(m catalog.FileModel) bool { return m.ID == "openai/gpt-5-mini" })
	if len(f.Models) < 3 || i < 0 || f.Models[i].Markup != 12_000 || !slices.Equal(f.Models[i].Accounts, []string{"acct_ada"}) {
		t.Fatalf("%+v", f.Models)
	}
	price := func(set func(*modelPrice)) (string, error) {
		c := modelPrice{Model: "openai/gpt-5-mini"}
		c.databaseFlags = b.flags
		set(&c)
		return b.do(func(s *database, t *terminal) error { return c.price(b.t.Context(), s, t) })
	}
	out, err = price(func(c *modelPrice) { c.Markup = "12.5%" })
	says(t, out, "openai/gpt-5-mini: Input tokens: $0.3 per 1M → $0.28125 per 1M")
	rates := map[string]string{"input_tokens": "1 per 1M", "output_tokens": "9 per 1M"}
	if err == nil {
		out, err = price(func(c *modelPrice) { c.Rate, c.From = rates, "2030-02-01" })
	}
	says(t, out, "openai/gpt-5-mini: Input tokens: $0.28125 per 1M → $1 per 1M from 2030-02-01")
	if m := b.file().Models[i]; err != nil || m.Markup != 11_250 || m.Announced == nil {
		t.Errorf("%v, %+v", err, m)
	}
	for want, set := range map[string]func(*modelPrice){
		"the price is missing: add --markup or --rate": func(*modelPrice) {},
		"--from: only rates can be announced":          func(c *modelPrice) { c.Markup, c.From = "1%", "2030-01-01" },
		`--from: "soon" is not a day`:                  func(c *modelPrice) { c.Rate, c.From = rates, "soon" },
		"--markup and --rate are two ways":             func(c *modelPrice) { c.Markup, c.Rate = "1%", rates },
		"--rate input_tokens: ":                        func(c *modelPrice) { c.Rate = map[string]string{"input_tokens": "much"} },
		"would have 1 mistakes": func(c *modelPrice) {
			c.Rate = map[string]string{"smiles": "1 per 1", "input_tokens": "1 per 1M", "output_tokens": "9 per 1M"}
		},
		"prices are below cost: change them, or add": func(c *modelPrice) {
			c.Rate = map[string]string{"input_tokens": "0.1 per 1M", "output_tokens": "9 per 1M"}
		},
		`no model with the id "openai/none"`: func(c *modelPrice) { c.Model, c.Markup = "openai/none", "1%" },
	} {
		if out, err := price(set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v\n%s", want, err, out)
		}
	}
	var list bytes.Buffer
	if err := printModels(&list, b.file(), []string{"5-MINI"}); err != nil || strings.Count(list.String(), "\n") != 2 {
		t.Errorf("%v\n%s", err, list.String())
	}
	says(t, list.String(), "openai/gpt-5-mini  available  $0.28125 per 1M", "12.5%", "openai  acct_ada")
	retire := modelRetire{Model: "openai/gpt-5-mini", editFlags: editFlags{databaseFlags: b.flags, Yes: true}}
	out, err = b.do(func(s *database, t *terminal) error { return retire.retire(b.t.Context(), s, t) })
	if err != nil {
		t.Error(err)
	}
	says(t, out, "gone: openai/gpt-5-mini")
	_, err = b.do(func(s *database, t *terminal) error { return retire.retire(b.t.Context(), s, t) })
	if err == nil || !strings.Contains(err.Error(), `no model with the id "openai/gpt-5-mini"`) {
		t.Errorf("%v", err)
	}
}

// TestACommandIsToldOfAnotherOperator applies a file while a command waits for its confirmation.
func TestACommandIsToldOfAnotherOperator(t *testing.T) {
	t.Parallel()
	b := newProviderBench(t)
	if _, err := b.add(); err != nil {
		t.Fatal(err)
	}
	retire := modelRetire{Model: "openai/gpt-5-mini", editFlags: editFlags{databaseFlags: b.flags}}
	err := withDatabase(t.Context(), b.flags, b.tools.log, func(s *database) error {
		return retire.retire(t.Context(), s, &terminal{out: &b.out, confirm: func(string) (bool, error) {
			f := b.file()
			f.Providers[0].Name = "Ours"
			return true, catalog.ApplyAs(t.Context(), b.db, f, catalog.HistoryAction{By: "bob@host"})
		}})
	})
	if err == nil || !strings.HasPrefix(err.Error(), "Another operator changed the catalog while this command ran: bob@host, at ") ||
		!strings.HasSuffix(err.Error(), "run the command again.") {
		t.Errorf("%v", err)
	}
	unasked := &terminal{out: &b.out, confirm: func(string) (bool, error) { return false, errUnconfirmed }}
	err = withDatabase(t.Context(), b.flags, b.tools.log, func(s *database) error { return retire.retire(t.Context(), s, unasked) })
	if !errors.Is(err, errUnconfirmed) || len(b.file().Models) != 2 {
		t.Errorf("%v", err)
	}
}

// TestProviderCommandLine runs commands as the program does, with the flags of the operator guide.
func TestProviderCommandLine(t *testing.T) {
	b := newProviderBench(t)
	t.Setenv("UMG_TEST_OPENAI_KEY", emulator.Key("openai"))
	where := []string{"--database-url", b.flags.DatabaseURL, "--data", b.flags.Data}
	for _, line := range []string{
		"provider add openai --key-env UMG_TEST_OPENAI_KEY --models all --markup 10% --yes --by ada --note first --base-url " + b.base,
		"provider list", "provider test openai", "provider pause openai", "provider resume openai", "model list",
		"model price openai/gpt-5-mini --markup 15% --yes", "model retire openai/gpt-5-mini --yes",
		"model publish openai openai/gpt-5-mini --markup 5% --yes", "model price openai/gpt-5-mini --yes --rate",
		"provider remove openai --yes",
	} {
		words, hasRates := strings.CutSuffix(line, "--rate")
		args := append(strings.Fields(words), where...)
		if hasRates {
			args = append(args, "--rate", "input_tokens=2.50 per 1M", "--rate", "output_tokens=10 per 1M", "--rate", "cache_read_tokens=1 per 1M")
		}
		if err := run(t.Context(), args); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	if f := b.file(); len(f.Providers)+len(f.Models) > 0 {
		t.Errorf("%+v", f)
	}
}
