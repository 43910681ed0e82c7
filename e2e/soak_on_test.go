//go:build soak

package e2e

// How much the tests that kill and flood do in make soak.
const (
	floodEvents = 2000
	randomKills = 12
	sharedJobs  = 300
	// deliveries is the number of payment events.
	deliveries = 100_000

	// Each size of a window gets both themes.
	bothThemesEverywhere = true
)

// walkingHands go through the stories. The keyboard is the stricter one; every other test of pages uses the mouse.
var walkingHands = []string{"mouse", "keyboard"}
