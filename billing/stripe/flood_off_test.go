//go:build !soak

package stripe

// floodEvents is how many events every change is tested with; soak takes more.
const floodEvents = 5_000
