//go:build bench

package bench

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"umg/e2e/harness"
)

// bench is everything that is measured, all on this machine and all with the same upstream.
type bench struct {
	home     *harness.Gateway
	upstream string
	refproxy target
	gateway  target
	// unbilled is the gateway without its ledger.
	unbilled target
	// nginx is nil where it is not installed.
	nginx *target
	books *books
}

// newBench starts what is measured. The account that pays has bought its credit, so that the gateway holds leases for it.
func newBench(t *testing.T) *bench {
	t.Helper()
	_, upstream := startProgram(t, "mockupstream")
	g := harness.StartDemo(t, "--simulator-url", "http://"+upstream)
	providers, models, last := catalogOf()
	g.PutCatalog(t, providers, models, last)
	b := &bench{
		home: g, upstream: upstream, books: openBooks(t, g),
		gateway: target{name: "gateway", address: addressOf(g), key: g.SDKAPIKey, pids: []int{g.PID}, database: g.DatabasePID(t)},
	}
	pid, address := startProgram(t, "refproxy", "-upstream", "http://"+upstream)
	b.refproxy = target{name: "refproxy", address: address, pids: []int{pid}}
	pid, address = startProgram(t, "benchgateway", "-database-url", g.DatabaseURL(t), "-simulator-url", "http://"+upstream,
		"-log", filepath.Join(harness.DataDir(t), "benchgateway.log"))
	b.unbilled = target{name: "ledger off", address: address, key: g.SDKAPIKey, pids: []int{pid}}
	b.nginx = startNginx(t, upstream)
	return b
}

// nginxConfig forwards everything to the upstream over kept connections, and passes events on as they come.
const nginxConfig = `daemon off;
%s
worker_processes auto;
pid %[2]s/nginx.pid;
error_log %[2]s/error.log;
events { worker_connections 8192; }
http {
	access_log off;
	client_body_temp_path %[2]s/body;
	proxy_temp_path %[2]s/proxy;
	fastcgi_temp_path %[2]s/fastcgi;
	uwsgi_temp_path %[2]s/uwsgi;
	scgi_temp_path %[2]s/scgi;
	client_max_body_size 8m;
	client_body_buffer_size 256k;
	keepalive_requests 1000000;
	upstream mock { server %[3]s; keepalive 512; keepalive_requests 1000000; }
	server {
		listen %[4]s;
		location / {
			proxy_pass http://mock;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_buffering off;
			proxy_read_timeout 60s;
		}
	}
}
`

// startNginx starts nginx where it is installed, and returns nil where it is not.
func startNginx(t *testing.T, upstream string) *target {
	t.Helper()
	bin, err := exec.LookPath("nginx")
	if err != nil {
		return nil
	}
	dir, user := harness.DataDir(t), ""
	if os.Getuid() == 0 {
		user = "user root;"
	}
	address := freeAddress(t)
	config := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, nginxConfig, user, dir, upstream, address), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "-p", dir, "-c", config)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	to := target{name: "nginx", address: address, pids: []int{cmd.Process.Pid}}
	probe := traffic{kind: "json1", client: "chat", upstream: "chat"}.request(to)
	for deadline := time.Now().Add(harness.StartTimeMax); ; time.Sleep(20 * time.Millisecond) {
		var c client
		a := c.call(probe)
		c.close()
		if a.succeeded() {
			to.pids = append(to.pids, children(t, to.pids[0])...)
			return &to
		}
		if time.Now().After(deadline) {
			t.Fatalf("nginx does not answer: %d %v", a.status, a.err)
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return ln.Addr().String()
}
