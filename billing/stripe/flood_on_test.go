//go:build soak

package stripe

const floodEvents = 100_000
