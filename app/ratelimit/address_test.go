package ratelimit_test

import (
	"strings"
	"testing"
	"time"

	"umg/app/ratelimit"
)

func TestAMalformedAddressOfRedisIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"redis://:hush%zz@host:6379", "redis://:hu/sh@host:6379", "hush://host", "redis://:hush\n@host"} {
		_, err := ratelimit.Open(ratelimit.Options{Now: time.Now}, ratelimit.Shared{Address: address, Replica: "r"})
		if err == nil || strings.Contains(err.Error(), "hu/") || strings.Contains(err.Error(), "hush%") || strings.Contains(err.Error(), ":hush") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
