//go:build !race

package gateway_test

// rotationCalls is how many calls are made while credentials rotate.
const rotationCalls = 10_000
