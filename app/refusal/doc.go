// Package refusal records requests of known accounts that were refused before any provider was called, and so have no usage record.
// Record takes one in memory without waiting, Run writes them to the database in batches, and package billing/usage reads them.
package refusal
