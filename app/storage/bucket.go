package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	requestTriesMax      = 4
	connectTimeout       = 5 * time.Second
	silenceMax           = 60 * time.Second // A connection without a byte for this long is closed.
	connectionIdleMax    = 30 * time.Second
	connectionsIdleMax   = 64
	connectionsMax       = 1024 // A slow download holds one connection. Further requests wait.
	answerHeaderBytesMax = 64 << 10
	openTimeout          = 30 * time.Second // This bounds the requests that NewBucket makes.
	abandonedAgeMax      = 24 * time.Hour
	abandonedSweepMax    = 1000 // NewBucket looks at this many unfinished uploads.
	endpointDefault      = "https://s3.amazonaws.com"
	digestHeader         = "Sha256" // This is the member of the object's metadata, as the library spells it.
)

// BucketOptions are the address and the keys of a bucket. The bucket, or the prefix in it, must belong to the gateway alone:
// NewBucket removes unfinished uploads.
type BucketOptions struct {
	Endpoint     string // Endpoint is http:// or https:// and a host; empty means AWS.
	Region       string // An empty Region means that the server is asked.
	Bucket       string
	Prefix       string // Prefix begins every key, without slashes at its ends.
	AccessKey    string
	SecretKey    string
	SessionToken string           // SessionToken belongs to temporary keys.
	PathStyle    bool             // PathStyle puts the bucket's name into the path instead of the host.
	SpoolDir     string           // Bodies are digested in this folder; empty means the system folder for temporary files.
	Now          func() time.Time // A nil Now means the machine's clock.
}

// bucket is a Store in a bucket. A blob is one object; its digest is in its metadata.
type bucket struct {
	core      *minio.Core
	transport *http.Transport
	name      string
	prefix    string
	spoolDir  string
	now       func() time.Time
}

// NewBucket opens a Store in an existing bucket. It makes one request, so that a wrong key or name is found when the gateway
// starts, and removes unfinished uploads.
func NewBucket(ctx context.Context, o BucketOptions) (Store, error) {
	if o.Bucket == "" || o.AccessKey == "" || o.SecretKey == "" {
		return nil, errors.New("storage: a bucket needs its name, an access key and a secret key")
	}
	if o.Prefix != "" {
		if err := checkKey(o.Prefix); err != nil {
			return nil, fmt.Errorf("storage: the prefix of bucket %s: %w", o.Bucket, err)
		}
		o.Prefix += "/"
	}
	if o.Endpoint == "" {
		o.Endpoint = endpointDefault
	}
	u, err := url.Parse(o.Endpoint)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("storage: the endpoint of bucket %s is not http:// or https:// and a host", o.Bucket)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	b := &bucket{transport: transport(), name: o.Bucket, prefix: o.Prefix, spoolDir: o.SpoolDir, now: o.Now}
	lookup := minio.BucketLookupAuto
	if o.PathStyle {
		lookup = minio.BucketLookupPath
	}
	b.core, err = minio.NewCore(u.Host, &minio.Options{
		Creds: o.credentials(), Secure: u.Scheme == "https",
		Transport: b.transport, Region: o.Region, BucketLookup: lookup, MaxRetries: requestTriesMax,
	})
	if err != nil {
		return nil, fmt.Errorf("storage: bucket %s: %w", o.Bucket, err)
	}
	if err := b.prepare(ctx); err != nil {
		b.transport.CloseIdleConnections()
		return nil, err
	}
	return b, nil
}

// credentials are the configured keys only; the keys of the machine are never used.
func (o BucketOptions) credentials() *credentials.Credentials {
	return credentials.NewStaticV4(o.AccessKey, o.SecretKey, o.SessionToken)
}

// transport limits each wait. The caller's context limits how long a whole blob may take.
func transport() *http.Transport {
	dialer := &net.Dialer{Timeout: connectTimeout}
	return &http.Transport{
		Proxy: nil, // A proxy from the environment is never used.
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &idleTimeoutConn{Conn: c}, nil
		},
		TLSHandshakeTimeout: connectTimeout, ExpectContinueTimeout: time.Second, IdleConnTimeout: connectionIdleMax,
		MaxIdleConnsPerHost: connectionsIdleMax, MaxConnsPerHost: connectionsMax, MaxResponseHeaderBytes: answerHeaderBytesMax,
		DisableCompression: true,
	}
}

// idleTimeoutConn is a connection that fails when no byte arrives or leaves for too long. A whole video may take longer.
type idleTimeoutConn struct{ net.Conn }

func (a *idleTimeoutConn) Read(p []byte) (int, error) {
	if err := a.SetDeadline(time.Now().Add(silenceMax)); err != nil {
		return 0, err
	}
	return a.Conn.Read(p)
}

func (a *idleTimeoutConn) Write(p []byte) (int, error) {
	if err := a.SetDeadline(time.Now().Add(silenceMax)); err != nil {
		return 0, err
	}
	return a.Conn.Write(p)
}

func (b *bucket) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	exists, err := b.core.BucketExists(ctx, b.name)
	if err != nil {
		return fmt.Errorf("storage: asking for bucket %s: %w", b.name, err)
	}
	if !exists {
		return fmt.Errorf("storage: there is no bucket %s; make it first", b.name)
	}
	// Keys that may not list uploads are good keys all the same: then a rule of the bucket has to remove them.
	uploads, err := b.core.ListMultipartUploads(ctx, b.name, b.prefix, "", "", "", abandonedSweepMax)
	if err != nil {
		return nil
	}
	for _, u := range uploads.Uploads {
		if strings.HasPrefix(u.Key, b.prefix) && b.now().Sub(u.Initiated) >= abandonedAgeMax {
			_ = b.core.AbortMultipartUpload(ctx, b.name, u.Key, u.UploadID) // The next start retries a failed abort.
		}
	}
	return nil
}

// Put reads the whole body, then sends it in one request, or in parts that become one object when the last has arrived.
func (b *bucket) Put(ctx context.Context, key, mediaType string, size int64, body io.Reader) (Info, error) {
	if err := checkKey(key); err != nil {
		return Info{}, err
	}
	if err := checkSize(size); err != nil {
		return Info{}, err
	}
	mediaType, err := checkType(mediaType)
	if err != nil {
		return Info{}, err
	}
	s, err := spool(ctx, b.spoolDir, body, size)
	if err != nil {
		return Info{}, err
	}
	defer s.close()
	if err := b.send(ctx, b.prefix+key, s, minio.PutObjectOptions{
		ContentType: mediaType, UserMetadata: map[string]string{digestHeader: s.sha256},
	}); err != nil {
		return Info{}, bucketError("sending the blob", err)
	}
	modified := b.now().UTC().Truncate(time.Second) // The answer has no date. The server's is nearly the same.
	return Info{Size: s.size, Type: mediaType, ETag: `"` + s.sha256 + `"`, ModifiedAt: modified}, nil
}

// send sends a short body in one request, and a long one in parts.
func (b *bucket) send(ctx context.Context, key string, body *spooled, o minio.PutObjectOptions) error {
	if body.size > partBytes {
		return b.sendParts(ctx, key, body, o)
	}
	o.SendContentMd5, o.DisableMultipart = true, true
	_, err := b.core.Client.PutObject(ctx, b.name, key, io.NewSectionReader(body, 0, body.size), body.size, o)
	return err
}

// Open reads the metadata of the blob. Its bytes are requested when they are read.
func (b *bucket) Open(ctx context.Context, key string) (Blob, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	o, err := b.core.StatObject(ctx, b.name, b.prefix+key, minio.StatObjectOptions{})
	if err != nil {
		return nil, bucketError("asking for the blob", mapError(err))
	}
	info := Info{Size: o.Size, Type: o.ContentType, ETag: `"` + o.ETag + `"`, ModifiedAt: o.LastModified}
	if sum := o.UserMetadata[digestHeader]; sum != "" { // An object that others wrote has only the server's ETag.
		info.ETag = `"` + sum + `"`
	}
	return &objectBlob{bucket: b, ctx: ctx, key: b.prefix + key, info: info, version: o.ETag}, nil
}

// mapError turns answers of the bucket into the errors of this package.
func mapError(err error) error {
	switch minio.ToErrorResponse(err).StatusCode {
	case http.StatusNotFound:
		if code := minio.ToErrorResponse(err).Code; code != minio.NoSuchBucket {
			return ErrNotFound
		}
	case http.StatusPreconditionFailed:
		return ErrChanged
	case http.StatusRequestedRangeNotSatisfiable:
		return ErrChanged // The request asks for no range that the blob did not have.
	}
	return err
}

// Delete removes the object. A bucket with versions keeps the old ones according to its own rules.
func (b *bucket) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	err := mapError(b.core.RemoveObject(ctx, b.name, b.prefix+key, minio.RemoveObjectOptions{}))
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return bucketError("deleting the blob", err)
}

func (b *bucket) Close() error {
	b.transport.CloseIdleConnections()
	return nil
}
