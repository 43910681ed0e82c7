//go:build race

package lease

// How much the simulator plays where each step is ten times as slow.
const (
	simSeeds   = 600
	simWorkers = 2
)
