package app_test

import (
	"testing"

	"umg/app"
)

func TestAMissingOptionIsNamed(t *testing.T) {
	t.Parallel()
	for want, isSet := range map[string]map[string]bool{
		"":                                     {"db": true, "Options.Now": true},
		"account.New: Options.Log is required": {"db": false, "Options.Now": true, "Options.Log": false},
		"account.New: db is required":          {"db": false, "Options.Now": true},
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); got != want {
					t.Errorf("the panic says %q, want %q", got, want)
				}
			}()
			app.RequireOptions("account.New", isSet)
		}()
	}
}
