package storage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
)

const (
	serverInstall = "GOBIN=$PWD/.tools go install github.com/versity/versitygw/cmd/versitygw@v1.8.0"
	serverWaitMax = 20 * time.Second
	testRegion    = "eu-test-1"
	testAccess    = "reader-and-writer"
	testSecret    = "not-a-secret-of-anybody"
)

// s3 is one real server for all tests of the package; each test has a bucket of its own.
type s3 struct {
	once     sync.Once
	cmd      *exec.Cmd
	leash    io.Closer // The server runs while leash is open, so it ends with this process however that ends.
	dir      string
	endpoint string
	err      error
}

var server s3

func TestMain(m *testing.M) {
	if dir := os.Getenv(putsForeverEnv); dir != "" {
		putForever(dir)
	}
	code := m.Run()
	server.stop()
	os.Exit(code)
}

// program finds the server on PATH or in the .tools folder of the tree.
func (s *s3) program() (string, error) {
	if p, err := exec.LookPath("versitygw"); err == nil {
		return p, nil
	}
	p, err := filepath.Abs(filepath.Join("..", "..", ".tools", "versitygw"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(p); err != nil {
		return "", fmt.Errorf("no S3 server to test against; in the root of the tree run: %s", serverInstall)
	}
	return p, nil
}

func (s *s3) start() {
	program, err := s.program()
	if err != nil {
		s.err = err
		return
	}
	if s.dir, s.err = os.MkdirTemp("", "umg-s3-"); s.err != nil {
		return
	}
	for _, d := range []string{"blobs", "about"} {
		if s.err = os.Mkdir(filepath.Join(s.dir, d), 0o700); s.err != nil {
			return
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.err = err
		return
	}
	address := l.Addr().String()
	l.Close()
	var said bytes.Buffer
	s.cmd = exec.Command("/bin/sh", "-c", `"$@" & read -r _; kill -9 $!; wait`, "sh", program, "--port", address, "--region", testRegion, "--quiet",
		"posix", "--sidecar", filepath.Join(s.dir, "about"), filepath.Join(s.dir, "blobs"))
	s.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+testAccess, "ROOT_SECRET_KEY="+testSecret)
	s.cmd.Stdout, s.cmd.Stderr = io.Discard, &said
	if s.leash, s.err = s.cmd.StdinPipe(); s.err == nil {
		s.err = s.cmd.Start()
	}
	if s.err != nil {
		s.cmd = nil
		return
	}
	s.endpoint = "http://" + address
	for end := time.Now().Add(serverWaitMax); time.Now().Before(end); {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			c.Close()
			return
		}
		// The program gives no signal when it is ready, so the test polls.
		time.Sleep(20 * time.Millisecond)
	}
	s.stop()
	s.err = fmt.Errorf("%s does not answer at %s: %s", program, address, said.String())
}

func (s *s3) stop() {
	if s.cmd != nil {
		_ = s.leash.Close()
		_ = s.cmd.Wait() // The shell reports that it killed the server.
		s.cmd = nil
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// newBucket returns options for a bucket that exists and that no other test uses.
func newBucket(t *testing.T) BucketOptions {
	t.Helper()
	server.once.Do(server.start)
	if server.err != nil {
		t.Fatal(server.err)
	}
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(t.Name())), "-")
	name = fmt.Sprintf("%.40s-%d", name, time.Now().UnixNano()%1e9)
	o := BucketOptions{
		Endpoint: server.endpoint, Region: testRegion, Bucket: name, AccessKey: testAccess, SecretKey: testSecret,
		PathStyle: true, SpoolDir: t.TempDir(), Now: time.Now,
	}
	ctx, cancel := context.WithTimeout(t.Context(), serverWaitMax)
	defer cancel()
	if err := core(t, o).MakeBucket(ctx, name, minio.MakeBucketOptions{Region: testRegion}); err != nil {
		t.Fatal(err)
	}
	return o
}

// core speaks to the server past the store, to see and make what the store does not.
func core(t *testing.T, o BucketOptions) *minio.Core {
	t.Helper()
	c, err := minio.NewCore(strings.TrimPrefix(o.Endpoint, "http://"), &minio.Options{Creds: o.credentials(), Region: o.Region, BucketLookup: minio.BucketLookupPath})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
