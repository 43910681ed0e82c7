//go:build chaos && !soak

package faults

import (
	"time"
)

// How much chaos every change goes through; make soak makes more.
const (
	chaosKills   = 50
	chaosAnswers = 100_000
	chaosTimeMax = 90 * time.Second
	chaosSeed    = 20
)
