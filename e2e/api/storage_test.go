package api

import (
	"bytes"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

const (
	s3Install = "GOBIN=$PWD/.tools go install github.com/versity/versitygw/cmd/versitygw@v1.8.0"
	s3WaitMax = 30 * time.Second
)

// startS3 runs a real S3 server with one bucket, and gives its address and the folder that the bucket is kept in.
func startS3(t *testing.T, bucket string) (endpoint, folder string) {
	t.Helper()
	program, err := exec.LookPath("versitygw")
	if err != nil {
		program = filepath.Join(harness.ProjectRoot(t), ".tools", "versitygw")
		if _, err := os.Stat(program); err != nil {
			t.Fatalf("no S3 server to test against; in the root of the tree run: %s", s3Install)
		}
	}
	dir := t.TempDir()
	folder = filepath.Join(dir, "blobs", bucket)
	for _, d := range []string{folder, filepath.Join(dir, "about")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	var said bytes.Buffer
	cmd := exec.Command(program, "--port", address, "--region", "eu-test-1", "--quiet", "posix", "--sidecar", filepath.Join(dir, "about"), filepath.Dir(folder))
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY=writer", "ROOT_SECRET_KEY=not-a-secret-of-anybody")
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	// The storage does not say when it is ready, so the test asks until it answers.
	for end := time.Now().Add(s3WaitMax); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if c, err := net.DialTimeout("tcp", address, time.Second); err == nil {
			_ = c.Close()
			return "http://" + address, folder
		}
	}
	t.Fatalf("%s does not answer at %s: %s", program, address, said.String())
	return "", ""
}

// kept lists the files of a bucket.
func kept(t *testing.T, folder string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestVideosLieInABucket sets the environment that the keys of the bucket come from, so it runs alone.
func TestVideosLieInABucket(t *testing.T) {
	endpoint, folder := startS3(t, "films")
	t.Setenv("AWS_ACCESS_KEY_ID", "writer")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "not-a-secret-of-anybody")
	g := harness.StartDemo(t, append(harness.VideoFlags(harness.Webhooks.Address()), "--storage", "s3://films/prod?endpoint="+endpoint+"&region=eu-test-1&path_style=true")...)
	c := harness.NewVideoCustomer(t, g, "bucket")
	for _, model := range []string{harness.VideosModel, harness.TasksModel} {
		id := harness.TextMember(c.CompleteVideo(t, harness.VideoBody(model, "a lighthouse at dusk")), "id")
		if names := kept(t, folder); strings.Join(names, " ") != "spritesheet thumbnail video" {
			t.Errorf("the bucket holds %v", names)
		}
		whole := c.Call(t, "GET", harness.VideosPath+"/"+id+"/content", "")
		part := c.Call(t, "GET", harness.VideosPath+"/"+id+"/content", "", "Range", "bytes=1000-1999")
		if whole.Status != http.StatusOK || !strings.HasPrefix(whole.Body[4:], "ftyp") || part.Status != http.StatusPartialContent ||
			part.Body != whole.Body[1000:2000] {
			t.Errorf("%s: %d and %d, %d and %d bytes", id, whole.Status, part.Status, len(whole.Body), len(part.Body))
		}
		if a := c.Call(t, "DELETE", harness.VideosPath+"/"+id, ""); a.Status != http.StatusOK {
			t.Fatalf("delete: %d %s", a.Status, a.Body)
		}
		if names := kept(t, folder); len(names) != 0 {
			t.Errorf("after the delete the bucket holds %v", names)
		}
	}
}
