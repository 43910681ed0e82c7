package payments

// startWorker lets one more worker send events until none is left. The caller holds the lock.
func (h *hooks) startWorker() {
	// goroutine: the hooks own it, and Close waits for it; it ends when no event is left to send.
	h.all.Go(func() {
		for {
			one, wait, more := h.next()
			switch {
			case !more:
				return
			case wait > 0:
				h.sleep(wait)
			default:
				h.send(one)
			}
		}
	})
}
