// Package callcost measures what one call costs the process: its allocations and its processor time, through every layer from the
// connection of the client to the settlement on disk. Run its benchmarks with go test -bench, and its test states the allocations.
package callcost
