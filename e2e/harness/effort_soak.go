//go:build soak

package harness

// How much the tests that kill and flood do in make soak.
const (
	FloodEvents = 2000
	RandomKills = 12
	SharedJobs  = 300
	// WebhookDeliveries is the number of payment events.
	WebhookDeliveries = 100_000

	// Each size of a window gets both themes.
	BothThemesEverywhere = true
)

// InputDevices go through the stories. The keyboard is the stricter one; every other test of pages uses the mouse.
var InputDevices = []string{"mouse", "keyboard"}
