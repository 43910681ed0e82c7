package simulator

// startWorker lets one more worker send callbacks until none is left.
func (c *caller) startWorker() {
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
