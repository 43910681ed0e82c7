//go:build race

package gateway_test

// rotationCalls is smaller under the race detector, which takes five times as long.
const rotationCalls = 2_000
