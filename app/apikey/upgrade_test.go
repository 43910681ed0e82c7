package apikey

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"umg/app"
	"umg/app/postgres"
	"umg/app/postgres/pgtest"
	"umg/app/seal"
	"umg/migrations"
)

// beforeRights is the last migration of the time when every key could do everything and every account had one member.
const beforeRights = 12

// TestPeopleAndKeysOfBeforeGoOn brings a database of that time to the newest schema.
func TestPeopleAndKeysOfBeforeGoOn(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	db.MustExec(`drop schema public cascade`)
	db.MustExec(`create schema public`)
	old, err := goose.NewProvider(goose.DialectPostgres, db.DB, migrations.FS)
	must(t, err)
	_, err = old.UpTo(t.Context(), beforeRights)
	must(t, err)
	secret, err := newSecret(rand.Reader)
	must(t, err)
	f := seal.FingerprintOf(secret)
	db.MustExec(`insert into users (id, email, password_hash, created_at) values ('user_1', 'ada@example.com', 'x', now())`)
	db.MustExec(`insert into accounts (id, created_at) values ('acct_1', now()), ('acct_empty', now())`)
	db.MustExec(`insert into memberships (account_id, user_id, role, created_at) values ('acct_1', 'user_1', 'owner', now())`)
	db.MustExec(`insert into api_keys (id, account_id, secret_hash, name, prefix, last_four, env, error_mode, models, concurrency, created_by, created_at)
		values ('key_1', 'acct_1', $1, 'old', 'sk-umg-abcd', 'wxyz', '', 'standard', '{}', 3, 'user_1', now())`, f[:])
	_, err = postgres.Migrate(t.Context(), db, postgres.MigrateOptions{})
	must(t, err)

	b := setupOn(db)
	k, err := b.ring(t).Find(t.Context(), secret, "192.0.2.1")
	must(t, err)
	if want := app.RightsOfScopes(app.StandardScopes()); k.Rights != want || k.Concurrency != 3 || k.ErrorMode != Standard || len(k.Addresses) != 0 {
		t.Errorf("the key is %+v", k)
	}
	if k.Rights.Has(app.ManageKeys) {
		t.Error("a key of before manages keys")
	}
	u, err := b.User(t.Context(), "user_1")
	must(t, err)
	if u.Role != app.RoleOwner || u.Account != "ada's account" {
		t.Errorf("the user is %+v", u)
	}
	_, err = b.keys.Update(t.Context(), u.Principal(), "key_1", Patch{Name: new("renamed")})
	must(t, err)
	_, fresh, err := b.keys.Rotate(t.Context(), u.Principal(), "key_1", time.Hour)
	must(t, err)
	for _, good := range []string{secret, fresh} {
		if _, err := b.ring(t).Find(t.Context(), good, "192.0.2.1"); err != nil {
			t.Errorf("after a rotation with overlap: %v", err)
		}
	}
}
