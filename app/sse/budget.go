package sse

import "sync/atomic"

// Budget bounds the memory of all large frames and bodies of a process. The small buffer of each stream does not count. A nil Budget
// never refuses.
type Budget struct{ left atomic.Int64 }

// NewBudget makes a budget of that many bytes.
func NewBudget(bytesMax int64) *Budget {
	b := &Budget{}
	b.left.Store(bytesMax)
	return b
}

// Take reserves n bytes. It reserves nothing and reports false when fewer are free.
func (b *Budget) Take(n int64) bool {
	if b == nil {
		return true
	}
	if b.left.Add(-n) < 0 {
		b.left.Add(n)
		return false
	}
	return true
}

// Give returns n bytes that were taken.
func (b *Budget) Give(n int64) {
	if b != nil {
		b.left.Add(n)
	}
}

// Left is how many bytes are free now.
func (b *Budget) Left() int64 {
	if b == nil {
		return 0
	}
	return b.left.Load()
}
