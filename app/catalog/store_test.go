package catalog

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/app"
	"umg/app/meter"
	"umg/app/postgres"
	"umg/app/postgres/pgtest"
	"umg/billing"
)

func TestApplyAndExportRoundTrip(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	for name, raw := range map[string]string{
		"small": smallFile, "default": string(Default()), "empty": "",
		"odd": with(t, "max: 1.5", `max: 1.50, min: 1e-3, default: 1.0`, "name: South", `name: "Süd \"&<> ${X}\"", headers: {x-a: "${KEY}"}, `+
			`limits: {concurrency: 3}, paths: {messages: /m}`, "order: 2", "order: 2, timeouts: {idle: 1m30s}",
			"owner: acme", "owner: acme\n    paused: true\n    notice: busy",
			"availability: coming", "routes: [{provider: north, model: f1, style: operations}, {provider: north, model: f1, style: tasks, order: 2}, "+
				"{provider: north, model: f1, style: videos, order: 3}]\n    parameters: [stream]"),
		"assets": with(t, "name: North", "name: North, assets: {group: ours}", "availability: coming",
			"assets: 4\n    routes: [{provider: north, model: f1, style: tasks}]"),
	} {
		f := parse(t, raw)
		if err := Apply(t.Context(), db, f); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := Export(t.Context(), db)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want, errWant := f.Bytes()
		have, errHave := got.Bytes()
		if errWant != nil || errHave != nil || string(want) != string(have) {
			t.Errorf("%s comes back as\n%s\nnot as\n%s", name, have, want)
		}
		if lines, err := Diff(f, got); err != nil || len(lines) > 0 {
			t.Errorf("%s: %q, %v", name, lines, err)
		}
	}
}

func TestApplyTakesAllOrNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	if err := Apply(t.Context(), db, parse(t, smallFile)); err != nil {
		t.Fatal(err)
	}
	before, err := Export(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	bad := parse(t, with(t, "name: One", "name: Eins", "provider: north, model", "provider: west, model",
		"context_tokens: 1000", "context_tokens: 0"))
	err = Apply(t.Context(), db, bad)
	if err == nil || !strings.Contains(err.Error(), `models[0].routes[0].provider: provider "west" does not exist`) ||
		!strings.Contains(err.Error(), "models[0].context_tokens") {
		t.Fatalf("the problems are not all named: %v", err)
	}
	after, err := Export(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := Diff(before, after); err != nil || len(lines) > 0 {
		t.Errorf("a refused file changed something: %q, %v", lines, err)
	}
}

func TestApplyingTheSameFileChangesNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	var versions []int64
	for range 2 {
		if err := Apply(t.Context(), db, parse(t, smallFile)); err != nil {
			t.Fatal(err)
		}
		v, err := version(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, v)
	}
	if versions[0] != versions[1] {
		t.Errorf("versions %v", versions)
	}
}

func TestRateCardsArePinnedVersions(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	b.apply(t, smallFile)
	first, _ := b.awaitVersion(t, b.c).Model("acme/one")
	b.apply(t, with(t, "0.15 per 1M", "0.20 per 1M"))
	second, _ := b.awaitVersion(t, b.c).Model("acme/one")
	b.apply(t, with(t, "name: One", "name: Eins", "0.15 per 1M", "0.20 per 1M"))
	renamed, _ := b.awaitVersion(t, b.c).Model("acme/one")

	if first.RateCard.ID != "acme/one@1" || second.RateCard.ID != "acme/one@2" {
		t.Errorf("cards %s, %s", first.RateCard.ID, second.RateCard.ID)
	}
	if renamed.RateCard.ID != "acme/one@2" || renamed.Name != "Eins" {
		t.Errorf("a new name made a new rate card: %s", renamed.RateCard.ID)
	}
	var usage meter.Counts
	usage[meter.InputTokens], usage[meter.OutputTokens] = 1_000_000, 1_000_000
	for card, want := range map[*billing.RateCard]app.Amount{&first.RateCard: 75 * app.Cent, &second.RateCard: 80 * app.Cent} {
		if cost, err := card.Cost(usage, meter.Terms{}); err != nil || cost != want {
			t.Errorf("%s costs %s, want %s, %v", card.ID, cost, want, err)
		}
	}
	var stored int
	err := b.db.GetContext(t.Context(), &stored, `select (rates -> 0 ->> 'amount')::bigint from rate_cards where id = 'acme/one@1'`)
	if err != nil || stored != 150_000_000 {
		t.Errorf("the first version is stored as %d nano-dollars, %v", stored, err)
	}
}

func TestRateCardsAreNeverChanged(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	if err := Apply(t.Context(), db, parse(t, smallFile)); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		`update rate_cards set rates = '[{"meter":"images","amount":1,"per":1}]'`, `update rate_cards set valid_from = now()`,
		`delete from rate_cards`, `truncate rate_cards cascade`,
		`insert into rate_cards (model_id, version, rates) values ('acme/one', 9, '[]')`,
		`insert into rate_cards (model_id, version, rates) values ('acme/one', 9, '[{"meter":"images","amount":-1,"per":1}]')`,
		`insert into rate_cards (model_id, version, rates) values ('acme/one', 9, '[{"meter":"images","amount":1,"per":0}]')`,
		`insert into rate_cards (model_id, version, rates) values ('acme/one', 9, '[{"meter":"images","amount":"1","per":1}]')`,
		`insert into rate_cards (model_id, version, rates) values ('acme/one', 9, '[{"amount":1,"per":1}]')`,
		`insert into rate_cards (model_id, version, rates) values ('acme/one', 1, '[{"meter":"images","amount":1,"per":1}]')`,
		`update models set rate_version = null where id = 'acme/one'`,
		`update models set rate_version = 7 where id = 'acme/one'`,
		`insert into models (id, position, availability, entry) values ('acme/free', 9, 'available', '{}')`,
		`update providers set credential = 'sk-live-123'`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("allowed: %s", statement)
		}
	}
}

func TestRetiredModelsKeepTheirHistory(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	b.apply(t, smallFile)
	b.apply(t, "providers: []\nmodels: []")
	if s := b.awaitVersion(t, b.c); len(s.Models()) != 0 {
		t.Fatalf("%d models are left", len(s.Models()))
	}
	var cards int
	if err := b.db.GetContext(t.Context(), &cards, `select count(*) from rate_cards`); err != nil || cards != 2 {
		t.Errorf("%d rate cards, %v", cards, err)
	}
	b.apply(t, smallFile)
	m, ok := b.awaitVersion(t, b.c).Model("acme/one")
	if !ok || m.RateCard.ID != "acme/one@2" {
		t.Errorf("the model that came back has %+v", m)
	}
}

func TestAModelMayLoseItsRatesWhenItIsComing(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	b.apply(t, smallFile)
	b.apply(t, with(t, "    rates: {seconds: 0.10 per 1}\n    size_rates: {1920x1080: {seconds: 0.25 per 1}}\n", ""))
	m, ok := b.awaitVersion(t, b.c).Model("acme/film:fast")
	if !ok || len(m.RateCard.Rates) != 0 || m.RateCard.ID != "" {
		t.Errorf("got %+v", m)
	}
}

func TestConcurrentAppliesComeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	var group sync.WaitGroup
	for i := range 6 {
		price := []string{"0.15 per 1M", "0.25 per 1M"}[i%2]
		group.Go(func() {
			if err := Apply(t.Context(), b.db, parse(t, strings.Replace(smallFile, "0.15 per 1M", price, 1))); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	m, ok := b.awaitVersion(t, b.c).Model("acme/one")
	if !ok {
		t.Fatal("the model is gone")
	}
	var newest string
	err := b.db.GetContext(t.Context(), &newest, `select id from rate_cards where model_id = 'acme/one' order by version desc limit 1`)
	if err != nil || m.RateCard.ID != newest {
		t.Errorf("in force is %s, the newest is %s, %v", m.RateCard.ID, newest, err)
	}
}

func TestAnUnreachableStoreIsToldAsSuch(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	other, err := postgres.Open(t.Context(), pgtest.DSN(t, db), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), other, Options{Now: time.Now, Secrets: lookup, Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a catalog without a database opens")
	}
}
