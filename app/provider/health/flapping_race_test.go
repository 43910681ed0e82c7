//go:build race

package health_test

import "time"

// The simulated outages leave the quickest calls out under the race detector, where each step is ten times as slow.
var quickest []time.Duration
