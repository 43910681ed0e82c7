package simulator

// startWorker lets one more worker send callbacks until none is left.
func (c *caller) startWorker() {
	// goroutine: the caller of callbacks owns it; it ends when no callback is left to send.
	go func() {
		for {
			one, ok := c.next()
			if !ok {
				return
			}
			c.post(one)
		}
	}()
}
