//go:build soak

package faults

import (
	"time"
)

// How much chaos make soak makes.
const (
	chaosKills   = 400
	chaosAnswers = 2_000_000
	chaosTimeMax = 40 * time.Minute
	chaosSeed    = 21
)
