package harness

import (
	"testing"
	"time"
)

const (
	// ClaimTime is the time after which another process takes over the work of a dead one: see app/video and app/webhook.
	ClaimTime = time.Minute
	// RecoveryTimeMax is the time in which the next job of a test must end.
	RecoveryTimeMax = 60 * time.Second
)

// RestartingDemo is a customer whose gateway is killed and started again on its data, while the upstream runs on elsewhere.
type RestartingDemo struct {
	Customer

	// Demo is the demo as it was started. Its fields change with each restart.
	Demo *Gateway
	// Args are the arguments of every start.
	Args []string
	// KilledAt is the time of the last Kill.
	KilledAt time.Time
}

// NewRestartingDemo starts a gateway, an upstream whose renders take 200 ms, and a customer. Later arguments win.
func NewRestartingDemo(t *testing.T, name string, args ...string) *RestartingDemo {
	t.Helper()
	_, upstream := StartSimulator(t, "--render-time", "200ms")
	m := &RestartingDemo{Args: append(append(VideoFlags(Webhooks.Address()), "--simulator-url", upstream), args...)}
	m.Demo = StartDemo(t, m.Args...)
	m.Customer = NewVideoCustomer(t, m.Demo, name)
	return m
}

// Kill ends the gateway as a crash does.
func (m *RestartingDemo) Kill(t *testing.T) {
	t.Helper()
	if err := m.Demo.Command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-m.Demo.Exited
	m.KilledAt = time.Now()
}

// Restart starts the gateway again and lets the claims of the dead process expire at once, so that no test waits for minutes.
func (m *RestartingDemo) Restart(t *testing.T) {
	t.Helper()
	again, err := StartDemoIn(m.Demo.Dir, m.Args...)
	if err != nil {
		t.Fatal(err)
	}
	*m.Demo = *again
	c := *again
	c.APIKey, c.Email, c.Password = m.APIKey, m.Email, m.Password
	m.Gateway = &c
	m.ExpireClaims(t)
}

// ExpireClaims lets the claims of the dead process expire.
func (m *RestartingDemo) ExpireClaims(t *testing.T) {
	t.Helper()
	db := m.DB(t)
	dead := m.KilledAt.Add(ClaimTime)
	db.MustExec(`update video_jobs set claimed_until = null where claimed_until <= $1`, dead)
	db.MustExec(`update webhook_deliveries set claimed_until = null where claimed_until <= $1`, dead)
	db.MustExec(`update video_jobs set created_at = created_at - interval '3 minutes' where state in ('creating', 'uncertain')`)
}
