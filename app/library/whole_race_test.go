//go:build race

package library_test

// wholeSlowdown multiplies the times that a catalog may take. The race detector makes everything several times slower.
const wholeSlowdown = 6
