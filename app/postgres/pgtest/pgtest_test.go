package pgtest_test

import (
	"testing"

	"umg/app/postgres"
	"umg/app/postgres/pgtest"
)

func TestEachTestHasItsOwnMigratedDatabase(t *testing.T) {
	t.Parallel()
	one, two := pgtest.New(t), pgtest.New(t)
	if applied, err := postgres.Migrate(t.Context(), one, postgres.MigrateOptions{}); err != nil || applied != 0 {
		t.Fatalf("%d migrations were pending: %v", applied, err)
	}
	if _, err := one.Exec("create table mine (id int)"); err != nil {
		t.Fatal(err)
	}
	if _, err := two.Exec("select * from mine"); err == nil {
		t.Fatal("a table of one test is seen by another")
	}
	other, err := postgres.Open(t.Context(), pgtest.DSN(t, one), postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if _, err := other.Exec("select * from mine"); err != nil {
		t.Fatalf("the address leads to another database: %v", err)
	}
}
