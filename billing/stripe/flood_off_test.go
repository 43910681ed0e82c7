//go:build !soak

package stripe

// floodEvents is how many events a normal test run sends; the build tag soak sends more.
const floodEvents = 5_000
