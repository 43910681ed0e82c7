package admission

import "time"

// InFlight is how many calls are in now.
func (g *Controller) InFlight() int64 { return g.inFlight.Load() }

// InFlightMax is how many may be, of those that pay.
func (g *Controller) InFlightMax() int64 { return g.o.InFlightMax }

// Held is how many bytes of memory the process could not give back at the last measurement.
func (g *Controller) Held() int64 { return g.held.Load() }

// Late is how late goroutines got to run at the last measurement.
func (g *Controller) Late() time.Duration { return time.Duration(g.late.Load()) }

// RefusedFull is how many calls found no place.
func (g *Controller) RefusedFull() int64 { return g.sum(placesFull) }

// RefusedMemory is how many calls found no memory.
func (g *Controller) RefusedMemory() int64 { return g.sum(memory) }

// RefusedLate is how many calls were refused as the process was late.
func (g *Controller) RefusedLate() int64 { return g.sum(late) }

// RefusedCrowd is how many calls were refused as their account had its share of all places.
func (g *Controller) RefusedCrowd() int64 { return g.sum(accountFull) }

// RefusedTrial is how many of all refused calls had only trial credit behind them.
func (g *Controller) RefusedTrial() int64 {
	var n int64
	for why := range g.refused {
		n += g.refused[why][Trial].Load()
	}
	return n
}

func (g *Controller) sum(why reason) int64 {
	var n int64
	for c := range g.refused[why] {
		n += g.refused[why][c].Load()
	}
	return n
}

// BodyBytes is how many bytes the bodies of calls hold now.
func (g *Controller) BodyBytes() int64 { return g.bodies.Load() }

// BodyBytesMax is how many the body of one call may have at most.
func (g *Controller) BodyBytesMax() int64 { return g.o.AccountBytesMax }

// RefusedBodies is how many calls were refused as all bodies held what they may.
func (g *Controller) RefusedBodies() int64 { return g.sum(bodies) }

// RefusedAccountBodies is how many calls were refused as the bodies of their account held what they may.
func (g *Controller) RefusedAccountBodies() int64 { return g.sum(accountBodies) }
