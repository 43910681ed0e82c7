//go:build !unix

package http1

const canReadRaw = false

func readNow(uintptr, []byte) (int, error) { return 0, errWouldBlock }
