//go:build !race

package lease

// How much the simulator plays.
const (
	simSeeds   = 10_000
	simWorkers = 2
)
