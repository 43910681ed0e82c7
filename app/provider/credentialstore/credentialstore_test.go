package credentialstore_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/apptest"
	"umg/app/catalog"
	"umg/app/postgres/pgtest"
	"umg/app/provider/credentialstore"
)

// TestMain proves that no goroutine is left behind.
func TestMain(m *testing.M) { apptest.VerifyNoLeaks(m) }

const (
	secret = "sk-recognisable-0123456789-Zq7x"
	by     = "ada@example.com"
)

var now = time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)

func open(db *sqlx.DB, key byte, log *bytes.Buffer) *credentialstore.Store {
	return credentialstore.New(db, credentialstore.Options{
		Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(log, nil)), Key: [32]byte{key},
		CheckValue: func(auth catalog.Auth, value catalog.Secret) error {
			if auth.Kind == catalog.AuthSigV4 && !strings.Contains(value.Reveal(), ":") {
				return errors.New("it has no colon")
			}
			return nil
		},
	})
}

func TestACredentialIsStoredSealedAndShownByItsEnd(t *testing.T) {
	t.Parallel()
	db, log := pgtest.New(t), &bytes.Buffer{}
	s := open(db, 1, log)
	ctx := t.Context()
	apptest.Must(t, s.Set(ctx, "main", secret+"\n", by))
	apptest.Must(t, s.Set(ctx, "short", "0123456789", by))
	apptest.Must(t, s.Set(ctx, "main", secret, by))
	list, err := s.List(ctx)
	apptest.Must(t, err)
	if len(list) != 2 || list[0].Name != "main" || list[0].LastFour != "Zq7x" || list[0].ChangedBy != by || !list[0].ChangedAt.Equal(now) ||
		!list[0].IsReadable || len(list[0].KeyID) != 8 || list[1].LastFour != "" {
		t.Errorf("listed are %+v", list)
	}
	values, err := s.Values(ctx)
	if err != nil || values["main"].Value.Reveal() != secret || values["short"].Value.Reveal() != "0123456789" {
		t.Errorf("the values are not those that were set: %v", err)
	}
	events, err := s.History(ctx, 10)
	if err != nil || len(events) != 3 || events[0].Action != credentialstore.ActionSet || events[0].LastFour != "Zq7x" || events[0].By != by {
		t.Errorf("events %+v, %v", events, err)
	}
	var dump string
	apptest.Must(t, db.GetContext(ctx, &dump, `select (select string_agg(c::text || encode(c.sealed, 'escape'), '') from provider_credentials c)
		|| (select string_agg(e::text, '') from provider_credential_events e)`))
	if text := dump + log.String(); strings.Contains(text, secret) || strings.Contains(text, "recognisable") || !strings.Contains(text, "Zq7x") {
		t.Errorf("the database and the log have %s", text)
	}
	if n := apptest.Count(t, db, `select sealed_version from catalog_settings`); n != 3 {
		t.Errorf("%d changes were announced", n)
	}
}

func TestInvalidCredentialsAreRefusedByField(t *testing.T) {
	t.Parallel()
	s := open(pgtest.New(t), 1, &bytes.Buffer{})
	for _, c := range []struct{ name, value, param string }{
		{"", secret, "name"}, {"a b", secret, "name"}, {"-a", secret, "name"}, {strings.Repeat("a", 64), secret, "name"},
		{"a", "", "value"}, {"a", " \n", "value"}, {"a", strings.Repeat("a", credentialstore.ValueBytesMax+1), "value"}, {"a", "\xff\xfe", "value"},
	} {
		e := apptest.WantError(t, s.Set(t.Context(), c.name, c.value, by), app.Invalid, "invalid_"+c.param)
		if e.Param != c.param || strings.Contains(e.Error(), secret) {
			t.Errorf("%q: %+v", c.name, e)
		}
	}
}

func TestACredentialOfTheCatalogIsCheckedAndKept(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	s := open(db, 1, &bytes.Buffer{})
	file, err := catalog.ParseFile([]byte(`
providers:
  - {id: north, name: North, base_url: "https://north.example", credential: "sealed:aws", auth: {kind: sigv4, service: bedrock, region: us-east-1}}
models: []
`))
	apptest.Must(t, err)
	apptest.Must(t, catalog.Apply(t.Context(), db, file))
	e := apptest.WantError(t, s.Set(t.Context(), "aws", secret, by), app.Invalid, "invalid_value")
	if !strings.Contains(e.Message, "Provider north cannot use the credential: it has no colon.") || strings.Contains(e.Error(), secret) {
		t.Errorf("the refusal is %v", e)
	}
	apptest.Must(t, s.Set(t.Context(), "aws", "AKIA:"+secret, by))
	e = apptest.WantError(t, s.Delete(t.Context(), "aws", by), app.Conflict, "credential_in_use")
	if !strings.Contains(e.Message, "north") {
		t.Errorf("the refusal is %v", e)
	}
	apptest.Must(t, catalog.Apply(t.Context(), db, catalog.File{}))
	apptest.Must(t, s.Delete(t.Context(), "aws", by))
	apptest.WantError(t, s.Delete(t.Context(), "aws", by), app.NotFound, "credential_not_found")
}

func TestCredentialsMoveToAnotherSecretKey(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	before, after := open(db, 1, &bytes.Buffer{}), open(db, 2, &bytes.Buffer{})
	apptest.Must(t, before.Set(t.Context(), "main", secret, by))
	apptest.Must(t, after.Set(t.Context(), "other", secret, by))
	values, err := after.Values(t.Context())
	if err != nil || values["main"].Problem != "was sealed with another secret key; set it again" || !values["main"].Value.IsZero() {
		t.Errorf("the value of another key is %+v, %v", values["main"], err)
	}
	n, err := after.Reseal(t.Context(), [32]byte{1})
	if err != nil || n != 1 {
		t.Fatalf("%d were sealed again, %v", n, err)
	}
	if values, err = after.Values(t.Context()); err != nil || values["main"].Value.Reveal() != secret {
		t.Errorf("the value is not readable: %+v, %v", values["main"], err)
	}
	_, err = db.ExecContext(t.Context(), `update provider_credentials set sealed = (select sealed from provider_credentials where name = 'other')`)
	apptest.Must(t, err)
	if values, err = after.Values(t.Context()); err != nil || values["main"].Problem != "is damaged; set it again" {
		t.Errorf("the value of another name is %+v, %v", values["main"], err)
	}
	names, err := credentialstore.Names(t.Context(), db)
	if _, isKnown := names["main"]; err != nil || !isKnown || len(names) != 2 {
		t.Errorf("names %v, %v", names, err)
	}
}
