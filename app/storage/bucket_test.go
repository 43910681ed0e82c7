package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minio/minio-go/v7"
)

// between puts a proxy before the server: serve may answer itself, or pass the request on.
func between(t *testing.T, o BucketOptions, serve func(w http.ResponseWriter, r *http.Request, pass http.Handler)) BucketOptions {
	t.Helper()
	u, err := url.Parse(o.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	// The signature covers the host.
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u); r.Out.Host = r.In.Host }}
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, pass) }))
	t.Cleanup(p.Close)
	o.Endpoint = p.URL
	return o
}

func TestASeekAsksForNothingAndReadsShareARequest(t *testing.T) {
	t.Parallel()
	var gets atomic.Int64
	s := openBucket(t, between(t, newBucket(t), func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/k") {
			gets.Add(1)
		}
		pass.ServeHTTP(w, r)
	}))
	want := some(1, 2<<20)
	put(t, s, "k", "video/mp4", want)
	b := open(t, s, "k")
	for _, whence := range []int{io.SeekEnd, io.SeekStart} { // The function http.ServeContent begins with these seeks.
		if _, err := b.Seek(0, whence); err != nil {
			t.Fatal(err)
		}
	}
	if n := gets.Load(); n != 0 {
		t.Fatalf("opening and seeking asked %d times", n)
	}
	got := make([]byte, 1<<20)
	if _, err := io.ReadFull(b, got[:1000]); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Seek(5000, io.SeekCurrent); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(b, got); err != nil || !bytes.Equal(got, want[6000:6000+1<<20]) {
		t.Fatalf("after a short skip: %v", err)
	}
	if n := gets.Load(); n != 1 {
		t.Errorf("reading on asked %d times", n)
	}
	if _, err := b.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if all, err := io.ReadAll(b); err != nil || !bytes.Equal(all, want) || gets.Load() != 2 {
		t.Errorf("reading from the start asked %d times, %v", gets.Load(), err)
	}
}

func TestAnAnswerThatBreaksIsTakenUpWhereItBroke(t *testing.T) {
	t.Parallel()
	for _, cuts := range []int64{1, resumesMax, resumesMax + 1} {
		t.Run(fmt.Sprint(cuts), func(t *testing.T) {
			t.Parallel()
			var gets atomic.Int64
			s := openBucket(t, between(t, newBucket(t), func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
				if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/k") && gets.Add(1) <= cuts {
					w = &cutter{ResponseWriter: w, left: 50_000}
				}
				pass.ServeHTTP(w, r)
			}))
			want := some(1, 1<<20)
			put(t, s, "k", "video/mp4", want)
			got, err := io.ReadAll(open(t, s, "k"))
			if cuts <= resumesMax && (err != nil || !bytes.Equal(got, want)) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if cuts > resumesMax && (err == nil || !bytes.HasPrefix(want, got)) {
				t.Errorf("%d bytes of a blob that always breaks, and no error", len(got))
			}
		})
	}
}

// cutter ends an answer after some bytes, without its end.
type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	n, _ := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	if c.left -= n; c.left <= 0 {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, nil
}

func TestABusyBucketIsAskedAgainAndNotForever(t *testing.T) {
	t.Parallel()
	for _, times := range []int64{1, 1000} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			s := openBucket(t, between(t, newBucket(t), func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
				if r.Method == http.MethodPut && asked.Add(1) <= times {
					_, _ = io.Copy(io.Discard, r.Body)
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				pass.ServeHTTP(w, r)
			}))
			_, err := s.Put(t.Context(), "k", "video/mp4", -1, stream{bytes.NewReader(some(1, 3<<20))})
			if times == 1 {
				if err != nil {
					t.Fatal(err)
				}
				holds(t, s, "k", some(1, 3<<20))
			} else if err == nil || asked.Load() > requestTriesMax {
				t.Errorf("asked %d times, %v", asked.Load(), err)
			}
		})
	}
}

func TestAPartThatFailsForGoodLeavesNoUpload(t *testing.T) {
	t.Parallel()
	direct := newBucket(t)
	var beside, begun atomic.Int64 // Beside counts the parts in progress when the upload was given up, and begun counts all parts.
	firstCame, givenUp := make(chan struct{}), make(chan struct{})
	var underWay atomic.Int64
	s := openBucket(t, between(t, direct, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		switch r.URL.Query().Get("partNumber") {
		case "1": // Part 1 is slow and ends after part 2 was refused, or after the upload was given up.
			begun.Add(1)
			underWay.Add(1)
			defer underWay.Add(-1)
			close(firstCame)
			select {
			case <-givenUp:
			case <-time.After(300 * time.Millisecond):
			}
			pass.ServeHTTP(w, r)
		case "2":
			begun.Add(1)
			_, _ = io.Copy(io.Discard, r.Body)
			<-firstCame
			w.WriteHeader(http.StatusForbidden)
		case "3", "4":
			begun.Add(1)
			pass.ServeHTTP(w, r)
		default:
			if r.Method == http.MethodDelete {
				beside.Add(underWay.Load())
				close(givenUp)
			}
			pass.ServeHTTP(w, r)
		}
	}))
	if _, err := s.Put(t.Context(), "k", "video/mp4", -1, stream{io.LimitReader(noise(1), 3*partBytes+10)}); err == nil {
		t.Fatal("a blob without its second part is taken")
	}
	if beside.Load() != 0 {
		t.Error("the upload was given up while a part was under way, which may bring it back")
	}
	if begun.Load() != partsAtOnceMax {
		t.Errorf("%d parts were begun, though one of the first %d had failed", begun.Load(), partsAtOnceMax)
	}
	lacks(t, s, "k")
	if n := uploads(t, direct); n != 0 {
		t.Errorf("%d uploads are left", n)
	}
}

func TestACallerWhoLeavesBetweenPartsLeavesNoUpload(t *testing.T) {
	t.Parallel()
	direct := newBucket(t)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	s := openBucket(t, between(t, direct, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if r.URL.Query().Get("partNumber") != "" { // No part reaches the server.
			_, _ = io.Copy(io.Discard, r.Body)
			leave()
			panic(http.ErrAbortHandler)
		}
		pass.ServeHTTP(w, r)
	}))
	if _, err := s.Put(ctx, "k", "video/mp4", -1, stream{io.LimitReader(noise(1), partBytes+10)}); !errors.Is(err, context.Canceled) {
		t.Fatalf("the caller left, and the error is %v", err)
	}
	lacks(t, s, "k")
	if n := uploads(t, direct); n != 0 {
		t.Errorf("%d uploads are left", n)
	}
}

func uploads(t *testing.T, o BucketOptions) int {
	t.Helper()
	list, err := core(t, o).ListMultipartUploads(t.Context(), o.Bucket, "", "", "", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Uploads)
}

func TestUploadsOfAKilledWriterAreRemovedAtTheNextStart(t *testing.T) {
	t.Parallel()
	o := newBucket(t)
	o.Prefix = "films"
	for _, key := range []string{"films/k", "elsewhere/k"} {
		if _, err := core(t, o).NewMultipartUpload(t.Context(), o.Bucket, key, minio.PutObjectOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	openBucket(t, o)
	if n := uploads(t, o); n != 2 {
		t.Fatalf("%d uploads are left of 2 that may be under way", n)
	}
	o.Now = func() time.Time { return time.Now().Add(abandonedAgeMax + time.Minute) }
	openBucket(t, o)
	if n := uploads(t, o); n != 1 {
		t.Errorf("%d uploads are left, and the one elsewhere is not ours", n)
	}
}

func TestAPrefixKeepsStoresApart(t *testing.T) {
	t.Parallel()
	o := newBucket(t)
	one, two := o, o
	one.Prefix, two.Prefix = "one", "two/deep"
	a, b := openBucket(t, one), openBucket(t, two)
	put(t, a, "k", "video/mp4", []byte("a"))
	lacks(t, b, "k")
	put(t, b, "k", "video/mp4", []byte("b"))
	holds(t, a, "k", []byte("a"))
	holds(t, openBucket(t, o), "two/deep/k", []byte("b"))
}

func TestAnObjectThatOthersPutHasTheServersETag(t *testing.T) {
	t.Parallel()
	o := newBucket(t)
	s := openBucket(t, o)
	if _, err := core(t, o).Client.PutObject(t.Context(), o.Bucket, "k", strings.NewReader("abc"), 3, minio.PutObjectOptions{ContentType: "text/plain"}); err != nil {
		t.Fatal(err)
	}
	holds(t, s, "k", []byte("abc"))
	if got := open(t, s, "k").Info(); len(got.ETag) < 10 || got.ETag[0] != '"' || got.Type != "text/plain" {
		t.Errorf("%+v", got)
	}
}

func TestABodyWaitsInNoFileThatStays(t *testing.T) {
	t.Parallel()
	o := newBucket(t)
	s := openBucket(t, o)
	put(t, s, "k", "video/mp4", some(1, 3<<20))
	_, _ = s.Put(t.Context(), "k", "video/mp4", -1, broken(3<<20))
	if left, err := os.ReadDir(o.SpoolDir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestAWrongBucketOrKeyIsFoundOutAtTheStart(t *testing.T) {
	t.Parallel()
	good := newBucket(t)
	for name, change := range map[string]func(o *BucketOptions){
		"no such bucket": func(o *BucketOptions) { o.Bucket = "missing-bucket" },
		"no bucket":      func(o *BucketOptions) { o.Bucket = "" },
		"wrong secret":   func(o *BucketOptions) { o.SecretKey = "wrong" },
		"unknown key":    func(o *BucketOptions) { o.AccessKey = "unknown" },
		"no key":         func(o *BucketOptions) { o.AccessKey = "" },
		"no secret":      func(o *BucketOptions) { o.SecretKey = "" },
		"no scheme":      func(o *BucketOptions) { o.Endpoint = "127.0.0.1:1" },
		"a path":         func(o *BucketOptions) { o.Endpoint += "/x" },
		"a key in it":    func(o *BucketOptions) { o.Endpoint = "http://a:b@127.0.0.1:1" },
		"hostile prefix": func(o *BucketOptions) { o.Prefix = "../x" },
	} {
		o := good
		change(&o)
		s, err := NewBucket(t.Context(), o)
		if err == nil {
			s.Close()
			t.Errorf("%s: opened", name)
			continue
		}
		if strings.Contains(err.Error(), testSecret) {
			t.Errorf("%s: the error tells the secret", name)
		}
	}
}

func TestAServerThatIsAwayIsAnErrorInTime(t *testing.T) {
	t.Parallel()
	o := newBucket(t)
	var away atomic.Bool
	proxied := between(t, o, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if away.Load() {
			panic(http.ErrAbortHandler)
		}
		pass.ServeHTTP(w, r)
	})
	s := openBucket(t, proxied)
	put(t, s, "k", "video/mp4", []byte("x"))
	away.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := s.Open(ctx, "k"); err == nil || errors.Is(err, ErrNotFound) || ctx.Err() != nil {
		t.Errorf("open: %v", err)
	}
	if err := s.Delete(ctx, "k"); err == nil || ctx.Err() != nil {
		t.Errorf("delete: %v", err)
	}
}

func TestABucketThatVanishedIsNotABlobThatIsAbsent(t *testing.T) {
	t.Parallel()
	gone := minio.ErrorResponse{StatusCode: http.StatusNotFound, Code: minio.NoSuchBucket}
	if err := mapError(gone); errors.Is(err, ErrNotFound) {
		t.Error("a bucket that is gone reads as a blob that is not there")
	}
}

func TestSilenceOnAConnectionEndsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer near.Close()
		defer far.Close()
		c, start := &idleTimeoutConn{Conn: near}, time.Now()
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != silenceMax {
			t.Errorf("read after %v: %v", time.Since(start), err)
		}
		start = time.Now()
		if _, err := c.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != silenceMax {
			t.Errorf("write after %v: %v", time.Since(start), err)
		}
	})
}

func TestAnAddressOpensItsStore(t *testing.T) {
	t.Parallel()
	o, dir := newBucket(t), t.TempDir()
	env := func(name string) string {
		return map[string]string{"AWS_ACCESS_KEY_ID": testAccess, "AWS_SECRET_ACCESS_KEY": testSecret}[name]
	}
	bucket := "s3://" + o.Bucket + "/in/here?path_style=true&region=" + testRegion + "&endpoint=" + url.QueryEscape(o.Endpoint)
	for _, address := range []string{dir + "/a", "file://" + dir + "/b", bucket} {
		s, err := Open(t.Context(), address, env, time.Now)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		put(t, s, "k", "video/mp4", []byte("x"))
		holds(t, s, "k", []byte("x"))
		s.Close()
	}
	holds(t, openBucket(t, o), "in/here/k", []byte("x"))
	if _, err := Open(t.Context(), bucket, func(string) string { return "" }, time.Now); err == nil {
		t.Error("a bucket is opened without a key")
	}
	for _, address := range []string{
		"", "s3://", "gs://key:secret@bucket", "http://x", "file://relative", "s3://b?regoin=x", "s3://b?path_style=perhaps", "s3://key:secret@b", "s3://b?endpoint=%zz", "s3://b?a=1;b=2",
	} {
		if s, err := Open(t.Context(), address, env, time.Now); err == nil {
			s.Close()
			t.Errorf("%q is opened", address)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error repeats a secret: %v", err)
		}
	}
}
