//go:build race

package lease

// The simulator plays fewer seeds under the race detector, where each step is ten times as slow.
const (
	simSeeds   = 600
	simWorkers = 2
)
