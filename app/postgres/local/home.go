package local

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// home is the data folder of a local cluster and the identity that its server runs as.
type home struct {
	dir     string
	cluster string
	runAs   *syscall.Credential // The server runs as this user; nil means the user of this process.
}

// major reads which version made the cluster; zero means that there is none yet.
func (h home) major() (int, error) {
	text, err := os.ReadFile(filepath.Join(h.cluster, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("postgres: the data folder cannot be read: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("postgres: %s holds %q, which is no known version; nothing was changed", h.cluster, bytes.TrimSpace(text))
	}
	return major, nil
}

// prepare makes the data folder and chooses the user that the server runs as. PostgreSQL refuses root, so a gateway of root runs
// it as another user. The data folder then lets others pass through, while the cluster in it stays closed.
func (h *home) prepare() error {
	mode := fs.FileMode(0o700)
	if os.Geteuid() == 0 {
		mode = 0o711
	}
	if err := os.MkdirAll(h.dir, mode); err != nil {
		return fmt.Errorf("postgres: make the data folder: %w", err)
	}
	if os.Geteuid() != 0 {
		return nil
	}
	if err := h.dropRoot(); err != nil {
		return err
	}
	info, err := os.Stat(h.dir)
	if err != nil {
		return fmt.Errorf("postgres: data folder: %w", err)
	}
	if !mayEnter(info, h.runAs) {
		if err := os.Chmod(h.dir, info.Mode().Perm()|0o111); err != nil {
			return fmt.Errorf("postgres: open the data folder for the server: %w", err)
		}
	}
	for dir := filepath.Dir(h.dir); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return fmt.Errorf("postgres: data folder: %w", err)
		}
		if !mayEnter(info, h.runAs) {
			return fmt.Errorf("the data folder %s cannot be used as root, because user %d, which PostgreSQL runs as, may not enter %s: "+
				"choose another folder, such as /var/lib/umg, or set DATABASE_URL", h.dir, h.runAs.Uid, dir)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// dropRoot chooses the owner of an existing cluster, else the user postgres, else the user with the fewest rights.
func (h *home) dropRoot() error {
	if info, err := os.Stat(h.cluster); err == nil {
		if owner := ownerOf(info); owner.Uid != 0 {
			h.runAs = &owner
			return nil
		}
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.ParseUint(u.Uid, 10, 32)
		gid, errGID := strconv.ParseUint(u.Gid, 10, 32)
		if errUID == nil && errGID == nil {
			h.runAs = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
			return nil
		}
	}
	return errors.New("PostgreSQL does not run as root and there is no user postgres or nobody: " +
		"start the gateway as another user or set DATABASE_URL")
}

func ownerOf(info fs.FileInfo) syscall.Credential {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return syscall.Credential{}
	}
	return syscall.Credential{Uid: st.Uid, Gid: st.Gid}
}

func mayEnter(info fs.FileInfo, who *syscall.Credential) bool {
	owner, mode := ownerOf(info), info.Mode().Perm()
	switch {
	case owner.Uid == who.Uid:
		return mode&0o100 != 0
	case owner.Gid == who.Gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}

// lock takes the data folder for this process. The lock ends with the process, however that ends.
func (h home) lock() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(h.dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("postgres: lock the data folder: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("the data folder %s is in use by another gateway", h.dir), f.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("postgres: lock the data folder: %w", err), f.Close())
	}
	return f, nil
}

// initialise makes the cluster when there is none. It makes the cluster under another name and renames it, so that an interrupted
// start leaves nothing that looks like a cluster.
func (h home) initialise(ctx context.Context, bin binaries, durable bool) error {
	leftovers, _ := filepath.Glob(filepath.Join(h.dir, freshPrefix+"*")) // The pattern is valid.
	for _, l := range leftovers {
		_ = os.RemoveAll(l) // An initdb that is ending may still write there, so the next start removes it again.
	}
	if major, err := h.major(); err != nil || major != 0 {
		return err
	}
	if entries, err := os.ReadDir(h.cluster); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty and holds no database: move it away or choose another data folder; nothing was changed", h.cluster)
	}
	fresh, err := os.MkdirTemp(h.dir, freshPrefix)
	if err != nil {
		return fmt.Errorf("postgres: make the cluster: %w", err)
	}
	if err := h.chown(fresh); err != nil {
		return err
	}
	if err := h.runInitdb(ctx, bin, fresh, durable); err != nil {
		return errors.Join(err, os.RemoveAll(fresh))
	}
	_ = os.Remove(h.cluster) // Rename fails when an empty folder exists there.
	if err := os.Rename(fresh, h.cluster); err != nil {
		return fmt.Errorf("postgres: move the cluster into place: %w", err)
	}
	return syncDir(h.dir)
}

func (h home) runInitdb(ctx context.Context, bin binaries, into string, durable bool) error {
	ctx, cancel := context.WithTimeout(ctx, initMax)
	defer cancel()
	locale := "C"
	if runtime.GOOS == "linux" {
		locale = "C.UTF-8"
	}
	args := []string{"-D", into, "-U", "umg", "-A", "trust", "-E", "UTF8", "--locale=" + locale}
	if !durable {
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin.dir, "initdb"), args...) //nolint:gosec // fixed arguments, no shell
	cmd.Dir, cmd.Env = into, childEnvironment(into)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.runAs, Setpgid: true}
	endWithUs(cmd.SysProcAttr, syscall.SIGKILL)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	runtime.LockOSThread() // The kernel signals the child when this thread ends.
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("postgres: initdb: %w: %s", err, strings.Join(strings.Fields(initdbError(out.Bytes())), " "))
	}
	return nil
}

// initdbError returns the first line of initdb's output that names an error; other lines describe its progress and cleanup.
func initdbError(output []byte) string {
	for line := range bytes.Lines(output) {
		if bytes.Contains(line, []byte("error:")) || bytes.Contains(line, []byte("FATAL:")) || bytes.Contains(line, []byte("PANIC:")) {
			return string(bytes.TrimSpace(line))
		}
	}
	return lastLine(output)
}

// chown makes the user that the server runs as the owner of a folder.
func (h home) chown(dir string) error {
	if h.runAs == nil {
		return nil
	}
	if err := os.Chown(dir, int(h.runAs.Uid), int(h.runAs.Gid)); err != nil {
		return fmt.Errorf("postgres: hand %s to the server's user: %w", dir, err)
	}
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("postgres: sync the data folder: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}

// socketDir makes the folder of the socket: inside the data folder, or under the system's temporary folder when the
// path would be too long for a socket. A folder that others could enter is refused.
func (h home) socketDir() (string, error) {
	dir := h.socketPath()
	if err := os.Mkdir(dir, 0o700); err == nil {
		if err := h.chown(dir); err != nil {
			return "", err
		}
	} else if !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("postgres: make the socket's folder: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("postgres: the socket's folder: %w", err)
	}
	want := uint32(os.Geteuid())
	if h.runAs != nil {
		want = h.runAs.Uid
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || ownerOf(info).Uid != want {
		return "", fmt.Errorf("%s must be a folder that only user %d can enter: remove it", dir, want)
	}
	return dir, nil
}

// socketPath is where socketDir makes the folder.
func (h home) socketPath() string {
	dir := filepath.Join(h.dir, runName)
	if len(dir)+1+len(socketName) <= socketBytesMax {
		return dir
	}
	sum := sha256.Sum256([]byte(h.dir))
	return filepath.Join(os.TempDir(), "umg-"+hex.EncodeToString(sum[:6]))
}

// openLog returns the writer of the server's log: the given one, or a file in the data folder. It renames a long file of an
// earlier run, and replaces the one that was renamed before.
func (h home) openLog(given io.Writer) (io.Writer, io.Closer, error) {
	if given != nil {
		return given, io.NopCloser(nil), nil
	}
	path := filepath.Join(h.dir, logName)
	if info, err := os.Stat(path); err == nil && info.Size() > logBytesMax {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, nil, fmt.Errorf("postgres: rename the old log: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("postgres: open the log: %w", err)
	}
	return f, f, nil
}

// logTailMax is how much of the server's log is read to explain why the server ended.
const logTailMax = 64 << 10

// logSize is how long the server's log is now, in bytes.
func (h home) logSize() int64 {
	info, err := os.Stat(filepath.Join(h.dir, logName))
	if err != nil {
		return 0
	}
	return info.Size()
}

// sessionRefusals are fatal lines of sessions that began too early or too late. They do not explain why the server ended.
var sessionRefusals = [][]byte{
	[]byte("the database system is starting up"), []byte("the database system is not yet accepting connections"),
	[]byte("the database system is shutting down"), []byte("the database system is in recovery mode"),
}

// startFailure returns the first line of the server's log after a position that names an error which ends a server, in brackets.
// Without such a line, it returns the last one.
func (h home) startFailure(from int64) string {
	text := h.logFrom(from)
	for line := range bytes.Lines(text) {
		line = withoutTime(line)
		fatal := bytes.Contains(line, []byte("FATAL:")) || bytes.Contains(line, []byte("PANIC:"))
		if fatal && !slices.ContainsFunc(sessionRefusals, func(refusal []byte) bool { return bytes.Contains(line, refusal) }) {
			return " (" + filepath.Join(h.dir, logName) + " says: " + string(bytes.TrimSpace(line)) + ")"
		}
	}
	return h.lastLogLine(text)
}

// lastLogLine returns the last line of a part of the server's log in brackets.
func (h home) lastLogLine(text []byte) string {
	if len(bytes.TrimSpace(text)) == 0 {
		return ""
	}
	return " (" + filepath.Join(h.dir, logName) + " ends with: " + string(withoutTime([]byte(lastLine(text)))) + ")"
}

// withoutTime cuts the time and the process off a line of the log, so that one failure always has the same text.
func withoutTime(line []byte) []byte {
	if _, rest, found := bytes.Cut(line, []byte("] ")); found && line[0] >= '0' && line[0] <= '9' {
		return rest
	}
	return line
}

// logFrom reads the server's log after a position, at most its last logTailMax bytes. It returns nothing when it cannot read it.
func (h home) logFrom(from int64) []byte {
	f, err := os.Open(filepath.Join(h.dir, logName))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // The file was only read, so Close loses nothing.
	size := h.logSize()
	text := make([]byte, logTailMax)
	n, _ := f.ReadAt(text, max(from, size-logTailMax, 0)) // A short read returns all that the log has.
	return text[:n]
}

func lastLine(text []byte) string {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(lines[len(lines)-1])
}
