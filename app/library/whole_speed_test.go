//go:build !race

package library_test

// wholeSlowdown multiplies the times that a catalog may take.
const wholeSlowdown = 1
