package local

import (
	"os/exec"
	"runtime"
)

// child is one postgres process and the goroutine that waits for it.
type child struct {
	cmd  *exec.Cmd
	done chan struct{} // The channel is closed when the process has ended.
	err  error         // This is why the process ended. Read it after done is closed.
}

// startChild starts cmd from a goroutine that keeps its thread until the process ends: the signal that tells the
// process about our death follows the thread that made it, not the process.
func startChild(cmd *exec.Cmd) (*child, error) {
	c := &child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	// goroutine: the child owns it; it ends when the process has ended.
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.err = cmd.Wait()
			close(c.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// watch sends to exited when the process ends without being stopped, and closes exited in any case.
func (c *child) watch(stopping <-chan struct{}, exited chan<- error, describe func(error) error) {
	// goroutine: the child owns it; it ends when the process has ended.
	go func() {
		defer close(exited)
		<-c.done
		select {
		case <-stopping:
		default:
			exited <- describe(c.err)
		}
	}()
}
