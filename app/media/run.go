package media

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

const (
	complaintBytesMax = 500 // bytes of the program's message that an error repeats
	nicePriority      = 5   // answers to callers come first, but a busy machine must not starve it past its time
)

var errTooMuch = errors.New("the program wrote too much")

// bounded keeps what a program writes, up to a bound. Past it a strict one fails, which ends the program, and
// another forgets.
type bounded struct {
	kept   []byte
	most   int
	strict bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := b.most - len(b.kept)
	if b.strict && len(p) > room {
		return 0, errTooMuch
	}
	b.kept = append(b.kept, p[:min(len(p), room)]...)
	return len(p), nil
}

// run waits for a place and runs the program, with nothing of our environment, for a bounded time.
func (m *Thumbnailer) run(ctx context.Context, arguments []string) ([]byte, error) {
	select {
	case m.places <- struct{}{}:
		defer func() { <-m.places }()
	case <-ctx.Done():
		return nil, fmt.Errorf("media: waiting for a place: %w", ctx.Err())
	}
	limited, cancel := context.WithTimeout(ctx, m.timeMax)
	defer cancel()
	out, said := &bounded{most: outputBytesMax, strict: true}, &bounded{most: complaintBytesMax}
	cmd := exec.CommandContext(limited, m.program, arguments...) //nolint:gosec // the operator's program, our arguments
	cmd.Env = []string{"LC_ALL=C"}
	cmd.Stdout, cmd.Stderr = out, said
	cmd.WaitDelay = programCloseMax
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("media: starting the program: %w", err)
	}
	yield(cmd.Process.Pid)
	err := cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("media: making a picture: %w", ctx.Err())
	case limited.Err() != nil:
		return nil, fmt.Errorf("%w: the program took longer than %v", ErrVideo, m.timeMax)
	case err != nil:
		return nil, fmt.Errorf("%w: %w: %s", ErrVideo, err, strings.TrimSpace(strings.ToValidUTF8(string(said.kept), "?")))
	}
	return out.kept, nil
}
