package simulator

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// tripper answers requests by itself.
type tripper func(r *http.Request)

// RoundTrip answers 200.
func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

func bodyOf(t *testing.T, r *http.Request) string {
	t.Helper()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return string(raw)
}

// listener receives callbacks.
type listener struct {
	url  string
	came chan string
}

func listen(t *testing.T) *listener {
	t.Helper()
	l := &listener{came: make(chan string, 64)}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		l.came <- r.Method + " " + r.Header.Get("Content-Type") + " " + bodyOf(t, r)
	}))
	t.Cleanup(server.Close)
	l.url = server.URL + "/callbacks/videos/token"
	return l
}

func (l *listener) next(t *testing.T) string {
	t.Helper()
	select {
	case one := <-l.came:
		return one
	case <-time.After(10 * time.Second):
		t.Fatal("no callback came")
		return ""
	}
}

func TestTaskCallsBackAtEachChange(t *testing.T) {
	t.Parallel()
	l, c := listen(t), newClock()
	u := setup(t, Options{Now: c.Now, Render: time.Hour})
	body := taskAsk("A lighthouse")
	body["callback_url"], body["external_task_id"] = l.url, "mine"
	_, v := u.json("POST", tasksAt, body, nil)
	at := tasksAt + "/" + text(v, "data", "task_id")
	c.move(30 * time.Minute)
	for range 2 {
		u.json("GET", at, nil, nil)
	}
	first := l.next(t)
	c.move(30 * time.Minute)
	_, v = u.json("GET", at, nil, nil)
	last := l.next(t)
	if !strings.HasPrefix(first, "POST application/json {") || !strings.Contains(first, `"task_status":"processing"`) {
		t.Error(first)
	}
	data, err := json.Marshal(v["data"])
	if err != nil {
		t.Fatal(err)
	}
	var told, asked object
	if json.Unmarshal([]byte(strings.TrimPrefix(last, "POST application/json ")), &told) != nil || json.Unmarshal(data, &asked) != nil ||
		text(told, "task_result", "videos", 0, "url") != text(asked, "task_result", "videos", 0, "url") || text(told, "task_status") != "succeed" ||
		text(told, "task_info", "external_task_id") != "mine" {
		t.Errorf("%s, asked %s", last, data)
	}
	if len(l.came) != 0 {
		t.Errorf("one more: %s", <-l.came)
	}
}

func TestTaskCallsBackByItself(t *testing.T) {
	t.Parallel()
	l := listen(t)
	u := setup(t, Options{})
	for _, prompt := range []string{"A lighthouse", "simulate: callback=lie\nA lighthouse", "simulate: callback=none\nA lighthouse",
		"simulate: render=hold;callback=twice\nHeld"} {
		body := taskAsk(prompt)
		body["callback_url"], body["external_task_id"] = l.url, prompt
		if status, v := u.json("POST", tasksAt, body, nil); status != 200 {
			t.Fatalf("%d %v", status, v)
		}
	}
	counts := make(map[string]int)
	for range 4 {
		one := l.next(t)
		for _, word := range []string{"processing", "succeed", "failed"} {
			if strings.Contains(one, `"`+word+`"`) {
				counts[word]++
			}
		}
	}
	if counts["succeed"] != 1 || counts["failed"] != 1 || counts["processing"] != 2 {
		t.Errorf("%v", counts)
	}
	if n := u.sim.Finish("Held"); n != 1 {
		t.Errorf("finished %d", n)
	}
	for range 2 {
		if one := l.next(t); !strings.Contains(one, `"succeed"`) {
			t.Error(one)
		}
	}
}

// TestDeadCallbackAddressesAreForgotten proves that the simulator does not retry and keeps nothing of a dead address.
func TestDeadCallbackAddressesAreForgotten(t *testing.T) {
	t.Parallel()
	hits := make(chan string, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits <- r.URL.Path
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	u := setup(t, Options{})
	for _, address := range []string{"http://127.0.0.1:1/x", server.URL + "/here"} {
		body := taskAsk("A lighthouse")
		body["callback_url"] = address
		if status, v := u.json("POST", tasksAt, body, nil); status != 200 {
			t.Fatalf("%d %v", status, v)
		}
	}
	if got := <-hits; got != "/here" {
		t.Error(got)
	}
	for _, address := range []string{"ftp://127.0.0.1/x", "http://", "not an address", "http://a/" + strings.Repeat("a", callbackURLBytesMax)} {
		body := taskAsk("A lighthouse")
		body["callback_url"] = address
		if status, _ := u.json("POST", tasksAt, body, nil); status != 400 {
			t.Errorf("%.40s: %d", address, status)
		}
	}
	if len(hits) != 0 {
		t.Error("the redirect was followed")
	}
}

func TestCallbackQueueIsBounded(t *testing.T) {
	t.Parallel()
	c := newCaller()
	c.workers = callbacksAtOnceMax // Every worker counts as busy.
	for range callbacksQueuedMax + 3 {
		c.send(callback{})
	}
	if len(c.queue) != callbacksQueuedMax {
		t.Errorf("%d wait", len(c.queue))
	}
}

// TestCallbacksFollowTheClock runs a whole render on a clock of its own.
func TestCallbacksFollowTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		came := make(chan string, 8)
		c := newCaller()
		c.client.Transport = tripper(func(r *http.Request) { came <- bodyOf(t, r) })
		s := New(Options{})
		s.caller = c
		r := &render{id: "7", created: time.Now(), takes: time.Minute, fault: &fault{}, prompt: &prompt{},
			order: order{callback: "http://gateway.test/cb", kind: kindText, external: "mine"}}
		s.renders.add(r, r.created)
		s.scheduleCallbacks(r)
		synctest.Wait()
		if len(came) != 0 {
			t.Errorf("at once: %s", <-came)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if len(came) != 2 {
			t.Fatalf("%d callbacks", len(came))
		}
		if got := []string{<-came, <-came}; !strings.Contains(got[0], `"processing"`) || !strings.Contains(got[1], `"succeed"`) || !strings.Contains(got[1], `"mine"`) {
			t.Errorf("%v", got)
		}
	})
}
