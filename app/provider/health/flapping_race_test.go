//go:build race

package health_test

import "time"

// quickest is empty under the race detector, where each step of an outage is ten times as slow.
var quickest []time.Duration
