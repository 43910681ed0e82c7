package admission

import (
	"time"

	"umg/app"
)

const (
	bodyBytesStandard   = 512 << 20 // All bodies may hold this much where no limit of memory is known.
	bodyShare           = 4         // All bodies may hold one part in bodyShare of a known limit.
	accountBytesDefault = 64 << 20  // The bodies of one account may hold this much.
	accountBytesWait    = time.Second
)

// Declare counts a body of so many declared bytes in its account before it is read, or fails. It reserves no memory. Without it, bodies
// that do not fit together would be read in part and then refused.
func (p *Place) Declare(bytes int64) error {
	if p.account == "" || bytes <= p.claimed {
		return nil
	}
	if !p.gate.grow(p.account, bytes-p.claimed) {
		return p.gate.refuseBodies()
	}
	p.claimed = bytes
	return nil
}

// Grow counts so many more bytes of the body of a call, or returns the error of the bound that they would exceed. Leave releases them.
func (p *Place) Grow(bytes int64) error {
	if err := p.Declare(p.bytes + bytes); err != nil {
		return err
	}
	g := p.gate
	if g.bodies.Add(bytes) > g.o.BodyBytesMax {
		g.bodies.Add(-bytes)
		return g.refuse(bodies, Paid)
	}
	p.bytes += bytes
	return nil
}

// Shrink releases all bytes of the body. Nothing may hold the body any more.
func (p *Place) Shrink() {
	if p.bytes > 0 {
		p.gate.bodies.Add(-p.bytes)
	}
	if p.claimed > 0 {
		p.gate.grow(p.account, -p.claimed)
	}
	p.bytes, p.claimed = 0, 0
}

func (g *Controller) refuseBodies() error {
	g.refused[accountBodies][Paid].Add(1)
	return app.Errorf(app.Exhausted, "body_bytes_exceeded",
		"The bodies of this account's running calls would take more than %d MiB of memory. Nothing was charged; try again when one has ended.",
		g.o.AccountBytesMax>>20).After(accountBytesWait)
}

// grow counts bytes of an account, which may be below zero, and reports whether they are within its bound.
func (g *Controller) grow(account string, bytes int64) bool {
	s := g.shard(account)
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.bytes[account] + bytes
	switch {
	case bytes > 0 && n > g.o.AccountBytesMax:
		return false
	case n <= 0:
		delete(s.bytes, account)
	default:
		s.bytes[account] = n
	}
	return true
}
