// Package migrations carries the numbered SQL files that make the schema, forward only, inside the binary. It knows
// their bytes. It does not know how, when or where they are run.
package migrations

import "embed"

// FS holds the files, named 0001_name.sql and so on.
//
//go:embed *.sql
var FS embed.FS
