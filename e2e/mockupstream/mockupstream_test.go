package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// start serves the answers at an address of this machine for a test.
func start(t *testing.T) (url string) {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	// goroutine: the test owns it and waits for it; it ends when the listener is closed.
	go func() { done <- serve(ln, newAnswers()) }()
	t.Cleanup(func() {
		_ = ln.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + ln.Addr().String()
}

func post(t *testing.T, url string) (status int, body string) {
	t.Helper()
	// A reader of unknown length makes the client send its body in chunks.
	resp, err := http.Post(url, "application/json", io.MultiReader(strings.NewReader(`{"stream":true}`)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// TestAnswersInOnePieceAreJSON reads each answer with a client of Go's library, which also checks its framing.
func TestAnswersInOnePieceAreJSON(t *testing.T) {
	url := start(t)
	for _, k := range []string{"json1", "prompt10", "prompt100", "json10", "json100"} {
		for _, path := range []string{"/v1" + chatPath, "/v1" + messagesPath, "/v1" + responsesPath, "/v1/models/m" + nativePath} {
			status, body := post(t, url+"/"+k+path)
			if status != http.StatusOK || !json.Valid([]byte(body)) || !strings.Contains(body, "250") {
				t.Errorf("%s%s answers %d %.100s", k, path, status, body)
			}
		}
	}
	for _, path := range []string{"/json1/v1/nothing", "/nothing/v1" + chatPath, "/"} {
		if status, _ := post(t, url+path); status != http.StatusNotFound {
			t.Errorf("%s answers %d, want 404", path, status)
		}
	}
}

// TestStreamsHaveTheirEvents counts the events of the streams and reads the data of each.
func TestStreamsHaveTheirEvents(t *testing.T) {
	url := start(t)
	for _, c := range []struct {
		path   string
		events int
		last   string
	}{
		{"/v1" + chatPath, 204, "[DONE]"}, {"/v1" + messagesPath, 205, "message_stop"}, {"/v1" + responsesPath, 208, "response.completed"},
		{"/v1/models/m" + nativeStreamPath + "?alt=sse", 200, "STOP"},
	} {
		for _, k := range []string{"unpaced", "paced"} {
			_, body := post(t, url+"/"+k+c.path)
			count, last := 0, ""
			for line := range strings.Lines(body) {
				data, found := strings.CutPrefix(strings.TrimSpace(line), "data: ")
				if !found {
					continue
				}
				count, last = count+1, data
				if data != "[DONE]" && !json.Valid([]byte(data)) {
					t.Errorf("%s %s: %.100s is no JSON", k, c.path, data)
				}
			}
			if count != c.events || !strings.Contains(last, c.last) {
				t.Errorf("%s %s: %d events, the last is %.100s; want %d", k, c.path, count, last, c.events)
			}
		}
	}
}
