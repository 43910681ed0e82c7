//go:build !race

package health_test

import "time"

// quickest has the shortest pause between two calls of a simulated outage.
var quickest = []time.Duration{10 * time.Millisecond}
