// Package idempotency gives a request that is sent twice one outcome.
package idempotency
