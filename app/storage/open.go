package storage

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Open opens the store at an address: a folder's path, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME&path_style=true,
// of which all but the bucket is optional. The keys of a bucket come only from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
// AWS_SESSION_TOKEN, which env looks up.
func Open(ctx context.Context, address string, env func(string) string, now func() time.Time) (Store, error) {
	scheme, rest, found := strings.Cut(address, "://")
	switch {
	case !found && address != "":
		return NewFolder(address, now)
	case scheme == "file" && strings.HasPrefix(rest, "/"):
		return NewFolder(rest, now)
	case scheme == "s3":
		o, err := bucketAt(address)
		if err != nil {
			return nil, err
		}
		o.AccessKey, o.SecretKey, o.SessionToken = env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY"), env("AWS_SESSION_TOKEN")
		o.Now = now
		return NewBucket(ctx, o)
	}
	// The error does not repeat the address, which may contain keys.
	return nil, errors.New("storage: the address is neither the path of a folder nor s3://BUCKET?endpoint=URL&region=NAME")
}

// bucketAt parses the address of a bucket. An unknown parameter is an error, because a misspelt region must not be ignored.
func bucketAt(address string) (BucketOptions, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil {
		return BucketOptions{}, errors.New("storage: the address of the bucket is not s3://BUCKET?endpoint=URL&region=NAME, without keys")
	}
	o := BucketOptions{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/")}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return BucketOptions{}, fmt.Errorf("storage: the address of bucket %s: %w", o.Bucket, err)
	}
	for name, values := range query {
		switch value := values[len(values)-1]; name {
		case "endpoint":
			o.Endpoint = value
		case "region":
			o.Region = value
		case "path_style":
			if o.PathStyle, err = strconv.ParseBool(value); err != nil {
				return BucketOptions{}, fmt.Errorf("storage: path_style is %q, and true or false are allowed", value)
			}
		default:
			return BucketOptions{}, fmt.Errorf("storage: a bucket has no %q; endpoint, region and path_style are known", name)
		}
	}
	return o, nil
}
