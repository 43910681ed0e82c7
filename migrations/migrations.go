// Package migrations embeds the numbered SQL files that make the schema, forward only. Package postgres runs them, each once and in
// the order of their numbers.
//
// A file runs in one transaction, whose statements give up when they do not get a lock in time and are tried again. From 0037 on an
// index on a table of an earlier file is built in a file of its own, which writers do not wait for:
//
//	-- +goose NO TRANSACTION
//	-- +goose Up
//	create index concurrently if not exists NAME on TABLE (COLUMN);
//
// On a partitioned table the index is first made `on only` the parent, in the transaction of another file, then on each partition in
// this way, and attached. Files before 0037 build theirs in a transaction, because no database had rows when they were written.
//
// The numbers 0017, 0026 and 0038 were reserved for changes that were written in another way and never existed. They stay unused:
// a file with one of them would be older than the newest that databases have, and would not run there.
package migrations

import "embed"

// FS holds the files, named 0001_name.sql and so on.
//
//go:embed *.sql
var FS embed.FS
