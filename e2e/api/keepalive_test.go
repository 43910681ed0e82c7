package api

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// TestEveryKindOfAnswerKeepsItsConnection sends one request of each kind over one connection. A handler that fails after its answer would
// drop the connection, and a client may then lose its next call.
func TestEveryKindOfAnswerKeepsItsConnection(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	address := strings.TrimPrefix(g.ConsoleURL, "http://")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(harness.CallTimeMax)); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(conn)
	for _, one := range []struct {
		method, path, body, key string
		status                  int
	}{
		{"GET", "/v1/models", "", g.APIKey, http.StatusOK},
		{"GET", "/v1/models/" + harness.CheapModel, "", g.APIKey, http.StatusOK},
		{"GET", "/v1/models", "", "sk-umg-wrong", http.StatusUnauthorized},
		{"POST", "/v1/chat/completions", harness.ChatRequest(harness.CheapModel, "echo: hi"), g.APIKey, http.StatusOK},
		{"POST", "/v1/chat/completions", harness.ChatRequest("no/such", "echo: hi"), g.APIKey, http.StatusNotFound},
		{"POST", "/v1/chat/completions", "not JSON", g.APIKey, http.StatusBadRequest},
		{"POST", "/v1/chat/completions", "{}", "", http.StatusUnauthorized},
		{"GET", "/v1/credits", "", g.APIKey, http.StatusOK},
		{"GET", "/v1/nothing", "", g.APIKey, http.StatusNotFound},
		{"GET", "/console/sign-in", "", "", http.StatusOK},
		{"GET", "/v1/models", "", g.APIKey, http.StatusOK},
	} {
		request, err := http.NewRequestWithContext(t.Context(), one.method, g.ConsoleURL+one.path, strings.NewReader(one.body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("X-Error-Status", "standard")
		if one.key != "" {
			request.Header.Set("Authorization", "Bearer "+one.key)
		}
		if err := request.Write(conn); err != nil {
			t.Fatalf("%s %s: %v", one.method, one.path, err)
		}
		answer, err := http.ReadResponse(answers, request)
		if err != nil {
			t.Fatalf("%s %s: %v", one.method, one.path, err)
		}
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != one.status || answer.Close {
			t.Errorf("%s %s: %d, closes %v, %v", one.method, one.path, answer.StatusCode, answer.Close, err)
		}
	}
}
