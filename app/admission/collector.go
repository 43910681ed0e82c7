package admission

import "os"

const (
	// percentMin and percentMax bound the new memory between two garbage collections, in percent of the memory that is in use.
	percentMin = 25
	percentMax = 800
	// percentStep is by how many parts in a hundred the pace must be wrong before it is changed, since a change stops the process briefly.
	percentStep = 10

	headroomBytes  = 32 << 20
	headroomShares = 16 // Under a limit, the headroom is at most one of so many shares of it.
)

// Headroom is how much new memory a process takes between two garbage collections while little is in use. The limit is that of
// LimitMemory. It is zero when GOGC is set: the operator has chosen the pace of the collector then.
func Headroom(limit int64) int64 {
	switch {
	case os.Getenv("GOGC") != "":
		return 0
	case limit > 0:
		return min(headroomBytes, limit/headroomShares)
	}
	return headroomBytes
}

// collectorPace keeps the new memory between two garbage collections near the headroom. Twice the memory in use, which is the standard of
// Go, is too little for a process that holds little and works much, and too much for one that holds many streams.
type collectorPace struct {
	headroom int64
	percent  int
	set      func(percent int) int
}

// adjust sets the pace for what a collection has found in use.
func (c *collectorPace) adjust(inUse int64) {
	if c.headroom <= 0 || inUse <= 0 {
		return
	}
	wanted := int(min(max(c.headroom*100/inUse, percentMin), percentMax))
	if off := wanted - c.percent; off*100 > c.percent*percentStep || -off*100 > c.percent*percentStep {
		c.percent = wanted
		c.set(wanted)
	}
}
