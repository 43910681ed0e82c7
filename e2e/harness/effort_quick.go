//go:build !soak

package harness

// How much the tests that kill and flood do with every change; make soak does more.
const (
	FloodEvents = 150
	RandomKills = 2
	SharedJobs  = 24
	// WebhookDeliveries is the number of payment events.
	WebhookDeliveries = 5000

	// Each size of a window gets one theme only.
	BothThemesEverywhere = false
)

// InputDevices go through the stories. The keyboard is the stricter one; every other test of pages uses the mouse.
var InputDevices = []string{"keyboard"}
