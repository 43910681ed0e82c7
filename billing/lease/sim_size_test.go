//go:build !race

package lease

// These constants set how many seeds the simulator plays.
const (
	simSeeds   = 10_000
	simWorkers = 2
)
