package server

import (
	"bytes"
	"errors"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"umg/api"
	"umg/app"
	"umg/app/gateway"
	"umg/app/logwriter"
	"umg/app/meter"
	"umg/app/provider"
)

// TestTheLineOfARequestIsThatOfTheJSONHandler writes random requests both ways.
func TestTheLineOfARequestIsThatOfTheJSONHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		random := mathrand.New(mathrand.NewPCG(1, 2))
		var want, got bytes.Buffer
		written := logwriter.New(&got, time.Now)
		bySlog := &Server{o: Options{Now: time.Now, Log: slog.New(slog.NewJSONHandler(&want, nil))}}
		byHand := &Server{o: Options{Now: time.Now}, lines: written}
		for range 2000 {
			x := randomRequest(random)
			bySlog.log(x)
			byHand.log(x)
			time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
		}
		_ = written.Flush()
		if !bytes.Equal(want.Bytes(), got.Bytes()) {
			for line := range bytes.Lines(want.Bytes()) {
				other, rest, _ := bytes.Cut(got.Bytes(), []byte("\n"))
				if !bytes.Equal(bytes.TrimSpace(line), other) {
					t.Fatalf("got  %s\nwant %s", other, line)
				}
				got = *bytes.NewBuffer(rest)
			}
			t.Fatal("there are more lines than requests")
		}
	})
}

func randomRequest(random *mathrand.Rand) *endedRequest {
	words := []string{"", "plain", "with space", `"quoted" \ <b>&`, "ünïcödé", "line\nbreak\ttab\x01", "\xff broken", "\u2028 \u2029", "\x7f"}
	word := func() string { return words[random.IntN(len(words))] }
	duration := func() time.Duration {
		return time.Duration(random.Int64N(1<<(10+random.IntN(50)))) * time.Duration(random.IntN(2))
	}
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", nil)
	r.Header.Set("X-Client-Request-Id", "mine-1")
	l := &api.RequestLog{
		RequestID: word(), AccountID: word(), KeyID: word(), Style: word(), Model: word(), FirstByte: duration(), Overhead: duration(),
		Result: gateway.Report{
			FallbackOf: word(), Provider: word(), Outcome: word(), Fault: provider.Class(word()), Attempts: random.IntN(3), Upstream: duration(),
			Cost: app.Amount(random.Int64()),
		},
	}
	l.Result.Usage[meter.InputTokens], l.Result.Usage[meter.OutputTokens] = random.Int64N(1e6), random.Int64N(1e6)
	if random.IntN(2) == 0 {
		l.Err = &app.Error{Kind: app.Kind(random.IntN(16)), Code: word()}
		if random.IntN(2) == 0 {
			l.Cause = errors.New(word())
		}
	}
	return &endedRequest{RequestLog: l, request: r, status: random.IntN(600), route: word(), took: duration()}
}
