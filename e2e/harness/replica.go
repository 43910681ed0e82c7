package harness

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Kill ends a replica without warning.
func (p Replica) Kill(t *testing.T) {
	t.Helper()
	if err := p.Command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.Exited
}

// StopAtEnd stops the replica when the test ends, and fails the test when the replica does not exit cleanly.
func (p Replica) StopAtEnd(t *testing.T) {
	t.Cleanup(func() {
		if err := p.Stop(); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
}

// Replica is `gateway serve` on a database that the gateway did not start itself.
type Replica struct {
	*Gateway
	OpsURL string
}

// StartReplica starts `gateway serve` as a second replica of a demo, whose database, catalog and key it shares.
func StartReplica(t *testing.T, beside *Gateway, args ...string) Replica {
	t.Helper()
	p, err := TryReplica(beside.DatabaseURL(t), beside, append([]string{"--data", DataDir(t)}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TryReplica is StartReplica for a replica that may not start. The arguments name its data folder.
func TryReplica(databaseURL string, beside *Gateway, args ...string) (Replica, error) {
	bin, err := GatewayBinary()
	if err != nil {
		return Replica{}, err
	}
	return TryReplicaBinary(bin, nil, databaseURL, beside, args...)
}

// TryReplicaBinary is TryReplica with another build, and more in its environment.
func TryReplicaBinary(bin string, env []string, databaseURL string, beside *Gateway, args ...string) (Replica, error) {
	g := *beside
	p := Replica{Gateway: &g}
	g.Exited, g.Log = make(chan error, 1), &lockedBuffer{}
	g.Command = exec.Command(bin, append([]string{
		"serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--profiles", "--lame-duck", "0s",
	}, args...)...)
	g.Command.Env = append(g.Command.Environ(), "DATABASE_URL="+databaseURL, "UMG_SIMULATOR_URL="+beside.SimulatorURL, "UMG_SIMULATOR_KEY=any")
	if key, err := os.ReadFile(filepath.Join(beside.Dir, "data", "secret.key")); err == nil {
		g.Command.Env = append(g.Command.Env, "UMG_SECRET_KEY="+strings.TrimSpace(string(key)))
	}
	g.Command.Env = append(g.Command.Env, env...)
	return p, p.awaitServing()
}

// StartServe starts `gateway serve` on an empty data folder with a database of its own, as on a new machine.
func StartServe(t *testing.T, env []string, args ...string) Replica {
	t.Helper()
	bin, err := GatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
	p := Replica{Gateway: &Gateway{Dir: DataDir(t), Exited: make(chan error, 1), Log: &lockedBuffer{}}}
	p.Command = exec.Command(bin, append([]string{
		"serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--lame-duck", "0s", "--data", filepath.Join(p.Dir, "data"),
	}, args...)...)
	p.Command.Env = append(os.Environ(), env...)
	if err := p.awaitServing(); err != nil {
		t.Fatal(err)
	}
	p.StopAtEnd(t)
	return p
}

// awaitServing starts the command of the replica and waits until it says that it serves, and where.
func (p *Replica) awaitServing() error {
	g := p.Gateway
	stderr, err := g.Command.StderrPipe()
	if err != nil {
		return err
	}
	if err := g.Command.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		var said struct{ Msg, Console, API, Ops string }
		_, _ = g.Log.Write(append(lines.Bytes(), '\n'))
		if json.Unmarshal(lines.Bytes(), &said) == nil && said.Msg == "serving" {
			g.ConsoleURL, g.BaseURL, p.OpsURL = strings.TrimSuffix(said.Console, "/console"), said.API, "http://"+said.Ops
			break
		}
	}
	if p.OpsURL == "" {
		return fmt.Errorf("serve did not start: %w\n%s", g.Command.Wait(), g.Log)
	}
	// goroutine: the replica owns it; it ends when the process has ended.
	go func() {
		_, _ = io.Copy(g.Log, stderr)
		g.Exited <- g.Command.Wait()
	}()
	return nil
}

// CallOps reads a path of the operators' listener.
func (p Replica) CallOps(t *testing.T, path string) Response {
	t.Helper()
	resp, err := HTTPClient.Get(p.OpsURL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return Response{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}
}
