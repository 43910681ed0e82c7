// Package local runs a PostgreSQL server of this machine as a child process: it finds the binaries, makes the data folder, starts the
// server, recovers from interrupted starts and stops it.
package local

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lib/pq"
)

// These limits apply to the local cluster.
const (
	readyEvery     = 10 * time.Millisecond
	readyMax       = 2 * time.Minute // Recovery after a crash replays what has no checkpoint yet.
	initMax        = 2 * time.Minute
	killWait       = 5 * time.Second
	startTriesMax  = 3 // Sessions of a killed server hold its memory for a moment.
	startTryEvery  = 300 * time.Millisecond
	socketBytesMax = 107 // The kernel limits a socket's path to this many bytes.
	logBytesMax    = 16 << 20
)

// These are the names inside the data folder.
const (
	clusterName = "postgres"
	lockName    = "postgres.lock"
	logName     = "postgres.log"
	runName     = "run"
	freshPrefix = "postgres.new-"
	socketName  = ".s.PGSQL.5432"
)

// durableSettings are for gateways. None of them reduces durability: an acknowledged commit survives a crash. Ten replicas may
// share the server, each with its pool and its listeners.
var durableSettings = []string{
	"max_connections=300", "checkpoint_completion_target=0.9", "max_wal_size=2GB",
	"log_error_verbosity=terse", // Details of a rejected row may contain an e-mail address.
	// Every commit waits for its own write, so the WAL writer has nothing to do for it, and an idle server should not wake five
	// times a second. The background writer cleans as many pages in a second as by default.
	"wal_writer_delay=10s", "bgwriter_delay=1s", "bgwriter_lru_maxpages=500",
}

// testSettings are for the clusters of tests only, which need no durability.
var testSettings = []string{
	"max_connections=200", "fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off",
	"wal_level=minimal", "max_wal_senders=0", "shared_buffers=32MB",
	"min_wal_size=32MB", "max_wal_size=128MB", // Many such clusters run at once on small disks.
}

// Options are the folders and the durability of a cluster.
type Options struct {
	Dir     string    // Dir is the data folder. The cluster is a folder inside it.
	Bin     string    // Bin is the folder with initdb and postgres; Start searches for it when empty.
	Durable bool      // Durable is false only for clusters of tests.
	Log     io.Writer // Log receives the server's log; nil means a file in Dir.
}

// Server is a PostgreSQL server that this process owns. It can be reached by its Unix socket only, in a folder that
// only its owner may enter, and it ends with this process.
type Server struct {
	dsn      string
	socket   string
	server   *child
	held     *os.File // This is the locked file in the data folder.
	log      io.Closer
	stop     sync.Once
	stopErr  error
	stopping chan struct{}
	exited   chan error
}

// Start starts the cluster in o.Dir, making it first when there is none. The folder is never touched when it was made by another major
// version or belongs to another gateway. A start that was interrupted at any point, by a kill or a power loss, is repaired by the next one.
func Start(ctx context.Context, o Options) (*Server, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("postgres: data folder: %w", err)
	}
	h := home{dir: dir, cluster: filepath.Join(dir, clusterName)}
	major, err := h.major()
	if err != nil {
		return nil, err
	}
	bin, err := findBinaries(ctx, o.Bin, major)
	if err != nil {
		return nil, err
	}
	if err := h.prepare(); err != nil {
		return nil, err
	}
	held, err := h.lock()
	if err != nil {
		return nil, err
	}
	s, err := startLocked(ctx, h, bin, o)
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	s.held = held
	return s, nil
}

func startLocked(ctx context.Context, h home, bin binaries, o Options) (*Server, error) {
	if err := h.initialise(ctx, bin, o.Durable); err != nil {
		return nil, err
	}
	if err := h.awaitOrphan(ctx); err != nil {
		return nil, err
	}
	socket, err := h.socketDir()
	if err != nil {
		return nil, err
	}
	if err := removeSocket(socket); err != nil {
		return nil, err
	}
	log, closer, err := h.openLog(o.Log)
	if err != nil {
		return nil, err
	}
	s := &Server{socket: socket, log: closer, stopping: make(chan struct{}), exited: make(chan error, 1)}
	s.dsn = socketDSN(socket, "umg")
	for try := 1; ; try++ {
		began := h.logSize()
		s.server, err = startChild(h.serverCommand(bin, socket, o.Durable, log))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("postgres: start %s: %w", bin.dir, err), closer.Close())
		}
		err = s.awaitReady(ctx)
		if err == nil {
			break
		}
		err = errors.Join(fmt.Errorf("%w%s", err, h.startFailure(began)), s.end(killWait))
		if try == startTriesMax || ctx.Err() != nil {
			return nil, errors.Join(err, closer.Close())
		}
		time.Sleep(startTryEvery)
	}
	s.server.watch(s.stopping, s.exited, func(err error) error {
		return fmt.Errorf("postgres: the local server ended by itself: %w%s", cmp.Or(err, errors.New("without an error")),
			h.lastLogLine(h.logFrom(0)))
	})
	return s, nil
}

// DSN is the address of the gateway's database in the cluster.
func (s *Server) DSN() string { return s.dsn }

// Exited delivers the reason when the server ends although Stop was not called. It is closed when the server has ended in either way.
func (s *Server) Exited() <-chan error { return s.exited }

// Stop asks the server to end its sessions and shut down cleanly. When ctx ends first the server is stopped hard, which
// loses nothing and makes the next start replay the log. A second call returns what the first did.
func (s *Server) Stop(ctx context.Context) error {
	s.stop.Do(func() { s.stopErr = s.shutDown(ctx) })
	return s.stopErr
}

func (s *Server) shutDown(ctx context.Context) error {
	close(s.stopping)
	err := s.signalAndWait(ctx, syscall.SIGINT)
	if err != nil {
		err = errors.Join(fmt.Errorf("postgres: stop: %w", err), s.end(killWait))
	}
	if !strings.HasPrefix(s.socket, filepath.Dir(s.held.Name())) {
		_ = os.RemoveAll(s.socket)
	}
	return errors.Join(err, s.log.Close(), s.held.Close())
}

// end stops the server at once and ends its sessions.
func (s *Server) end(wait time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if s.signalAndWait(ctx, syscall.SIGQUIT) == nil {
		return nil
	}
	if err := s.server.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("postgres: kill: %w", err)
	}
	<-s.server.done
	return nil
}

func (s *Server) signalAndWait(ctx context.Context, sig os.Signal) error {
	if err := s.server.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.server.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitReady returns when the server answers and its database exists.
func (s *Server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyMax)
	defer cancel()
	for {
		err := ensureDatabase(ctx, s.socket)
		if err == nil {
			return nil
		}
		select {
		case <-s.server.done:
			return fmt.Errorf("postgres: the local server does not start: %w", cmp.Or(s.server.err, err))
		case <-ctx.Done():
			return fmt.Errorf("postgres: the local server is not ready: %w", errors.Join(ctx.Err(), err))
		case <-time.After(readyEvery):
		}
	}
}

func ensureDatabase(ctx context.Context, socket string) error {
	db, err := connect(ctx, socketDSN(socket, "postgres"), readyMax)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var exists bool
	err = db.QueryRowContext(ctx, "select exists (select from pg_database where datname = 'umg')").Scan(&exists)
	if err != nil || exists {
		return err
	}
	_, err = db.ExecContext(ctx, "create database umg")
	return err
}

// connect returns a pool of one connection, which works after connectMax at most.
func connect(ctx context.Context, dsn string, connectMax time.Duration) (*sql.DB, error) {
	cfg, err := pq.NewConfig(dsn)
	if err != nil {
		return nil, err
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectMax
	}
	connector, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	ctx, cancel := context.WithTimeout(ctx, connectMax)
	defer cancel()
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func socketDSN(socket, database string) string {
	quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(socket)
	return "host='" + quoted + "' port=5432 user=umg password=none dbname=" + database + " sslmode=disable"
}

// serverCommand is the fixed way the server is run: no network address, a socket only its owner can reach, its own
// process group, so that an interrupt typed at the gateway does not reach it before the gateway has drained.
func (h home) serverCommand(bin binaries, socket string, durable bool, log io.Writer) *exec.Cmd {
	args := []string{
		"-D", h.cluster, "-k", socket, "-p", "5432", "-c", "listen_addresses=", "-c", "unix_socket_permissions=0700",
		"-c", "logging_collector=off", "-c", "log_destination=stderr", "-c", "timezone=UTC", "-c", "log_timezone=UTC",
	}
	settings := durableSettings
	if !durable {
		settings = testSettings
	}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	cmd := exec.Command(filepath.Join(bin.dir, "postgres"), args...) //nolint:gosec // fixed arguments, no shell
	cmd.Dir, cmd.Env = h.cluster, childEnvironment(h.cluster)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.runAs, Setpgid: true}
	endWithUs(cmd.SysProcAttr, syscall.SIGINT)
	return cmd
}

// childEnvironment is the whole environment of initdb and postgres: messages in a stable language, no PG* variable, no secret.
func childEnvironment(dir string) []string {
	return []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
}
