// Package catalog is what the gateway offers: providers, models, routes, rate cards and the contract of every model
// in every style. It reads and writes the declarative file, keeps the truth in Postgres and hands out immutable
// snapshots in which everything is prepared. It does not know HTTP, callers, balances or how a provider is called.
package catalog
