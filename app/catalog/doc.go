// Package catalog holds what the gateway offers: providers, models, routes, rate cards, and the contract of every model in every style.
// Apply writes the declarative file to Postgres; Open reads it and returns a Catalog, whose Snapshot is immutable and completely prepared.
package catalog
