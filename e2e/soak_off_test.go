//go:build !soak

package e2e

// How much the tests that kill and flood do with every change; make soak does more.
const (
	floodEvents = 150
	randomKills = 2
	sharedJobs  = 24
	// deliveries is the number of payment events.
	deliveries = 5000

	// Each size of a window gets one theme only.
	bothThemesEverywhere = false
)

// walkingHands go through the stories. The keyboard is the stricter one; every other test of pages uses the mouse.
var walkingHands = []string{"keyboard"}
