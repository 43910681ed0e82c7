package console_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app/catalog"
	"umg/app/provider/credentialstore"
	providerspend "umg/app/provider/spend"
)

func TestOperatorsStoreCredentialsThatNoPageShows(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	const path, secret = "/console/operator/credentials", "sk-recognisable-0123456789-Zq7x"
	shows(t, p.see(path), http.StatusOK, "No credential is stored")
	shows(t, p.see(path+"/new"), http.StatusOK, "Add a credential", "no page shows it again")
	for name, c := range map[string]struct{ name, value, says string }{
		"a wrong name": {"a b", secret, "Enter a name of at most 63"}, "no value": {"main", " ", "Enter the credential."},
	} {
		a := p.send(path, url.Values{"name": {c.name}, "value": {c.value}})
		shows(t, a, http.StatusUnprocessableEntity, c.says)
		if strings.Contains(a.body, secret) {
			t.Errorf("%s: the form shows the credential", name)
		}
	}
	if a := p.send(path, url.Values{"name": {"main"}, "value": {secret}}); a.status != http.StatusSeeOther || a.header.Get("Location") != path {
		t.Fatalf("storing: %d %v", a.status, a.header)
	}
	shows(t, p.see(path), http.StatusOK, "sealed:main", "…Zq7x", "ann@example.com", "Unused", "What operators did")
	shows(t, p.see(path+"/new?name=main"), http.StatusOK, "Replace a credential", `value="main"`)
	shows(t, p.see(path+"/main/delete"), http.StatusOK, "Delete sealed:main?")
	shows(t, p.see(path+"/other/delete"), http.StatusNotFound)
	k.name(t, "sealed:main")
	shows(t, p.see(path), http.StatusOK, "In use", "meridian")
	shows(t, p.send(path+"/main/delete", nil), http.StatusConflict, "Apply a catalog without it first.")
	shows(t, p.send(path, url.Values{"name": {"main"}, "value": {"wrong for its provider"}}), http.StatusUnprocessableEntity, "cannot use the credential: it is wrong")
	k.name(t, "${UMG_SIMULATOR_KEY}")
	if a := p.send(path+"/main/delete", nil); a.status != http.StatusSeeOther {
		t.Errorf("deleting: %d", a.status)
	}
	if a := p.send(path+"/main/delete", nil); a.status != http.StatusSeeOther {
		t.Errorf("deleting again: %d", a.status)
	}
	page := p.see(path)
	shows(t, page, http.StatusOK, "No credential is stored", "deleted ")
	if strings.Contains(page.body, "recognisable") {
		t.Error("the page shows the credential")
	}
}

// name puts a catalog in force whose first provider has a credential.
func (k *operatorFixture) name(t *testing.T, reference string) {
	t.Helper()
	file, err := catalog.ParseFile(catalog.Default())
	if err != nil {
		t.Fatal(err)
	}
	file.Providers[0].Credential = reference
	if err := catalog.Apply(t.Context(), k.db, file); err != nil {
		t.Fatal(err)
	}
}

func TestOperatorsSeeSpendAgainstItsCaps(t *testing.T) {
	t.Parallel()
	k := withOperators(t)
	p := k.operator("ann@example.com")
	shows(t, p.see("/console/operator"), http.StatusOK, "$12.50 of $50.00 spent today", "Resets", `aria-label="Spend cap: $12.50 of $50.00 spent today"`)
}

// credentialSources are the services behind the pages of credentials and spend. The first provider has spent a quarter of its cap.
func credentialSources(t *testing.T, db *sqlx.DB, models *catalog.Catalog) (*credentialstore.Store, *providerspend.Tracker) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	store := credentialsIn(db)
	if _, err := db.ExecContext(t.Context(), `insert into provider_spend (day, provider, credential, replica_id, spent_nanos)
		values ($1, 'meridian', '', 'one', 12500000000)`, time.Now().UTC().Format(time.DateOnly)); err != nil {
		t.Fatal(err)
	}
	tracker := providerspend.New(db, providerspend.Options{
		Now: time.Now, Log: log, Providers: func() []*catalog.Provider { return models.Snapshot().Providers() },
	})
	if err := tracker.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store, tracker
}

// credentialsIn are the sealed credentials of a database.
func credentialsIn(db *sqlx.DB) *credentialstore.Store {
	return credentialstore.New(db, credentialstore.Options{
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Key: [32]byte{7}, CheckValue: checkCredentialValue,
	})
}

// checkCredentialValue refuses values that begin with wrong.
func checkCredentialValue(_ catalog.Auth, value catalog.Secret) error {
	if strings.HasPrefix(value.Reveal(), "wrong") {
		return errors.New("it is wrong")
	}
	return nil
}
