//go:build race

package e2e

// raceDetector says whether these tests were built with the race detector: then the binary is, too.
const raceDetector = true
