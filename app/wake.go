package app

// Wake puts a value into the channel of a worker that waits for it. A full channel means that the worker has been woken already.
func Wake(worker chan<- struct{}) {
	select {
	case worker <- struct{}{}:
	default:
	}
}
