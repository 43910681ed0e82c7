//go:build !race

package health_test

import "time"

// quickest is how often the simulated outages are called at most.
var quickest = []time.Duration{10 * time.Millisecond}
