package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	declaringConns = 100
	dribblingConns = 100
	largeConns     = 8
	floodConns     = 16
	leavingConns   = 16

	declaredBytes = 32 << 20
	largeBytes    = 24 << 20
	// lateMax is how long the program waits for the last answers.
	lateMax      = time.Second
	getMax       = 5 * time.Second
	paceLook     = 2 * time.Millisecond
	writeBytes   = 64 << 10
	dribbleEvery = 500 * time.Millisecond
	dialPause    = 50 * time.Millisecond
)

// attack is what to do and for how long.
type attack struct {
	url, address, key, model string
	lasting                  time.Duration
	share                    float64

	client *http.Client
	began  time.Time
	mu     sync.Mutex
	found  report
}

// report is the result of the attack.
type report struct {
	// Answers counts answers by kind and status. Status 0 is a connection that ended without an answer.
	Answers map[string]int `json:"answers"`
	// Processor is the processor time that the program used, in processors.
	Processor float64 `json:"processor"`
}

// run attacks with all kinds at once until the time is over.
func (a *attack) run() report {
	a.began, a.found.Answers = time.Now(), map[string]int{}
	a.client = &http.Client{Timeout: getMax}
	words := `{"model":"` + a.model + `","messages":[{"role":"user","content":"` + strings.Repeat("word ", largeBytes/5) + `"}]}`
	names := a.names()
	var all sync.WaitGroup
	for _, kind := range []struct {
		name  string
		conns int
		do    func() int
	}{
		{"declared", declaringConns, func() int { return a.declare(0) }},
		{"dribbled", dribblingConns, func() int { return a.declare(dribbleEvery) }},
		{"dry run", largeConns, func() int { return a.post(words, true) }},
		{"dry run of names", largeConns, func() int { return a.post(names, true) }},
		{"large call", largeConns, func() int { return a.post(words, false) }},
		{"broken call", largeConns, func() int { return a.post(names[:len(names)-1], false) }},
		{"models", floodConns, func() int { return a.get("/v1/models") }},
		{"usage", floodConns, func() int { return a.get("/v1/usage") }},
		{"videos", floodConns, func() int { return a.get("/v1/videos") }},
		{"left", leavingConns, a.leave},
	} {
		for range kind.conns {
			// goroutine: the attack owns it and waits for it; it ends when the time of the attack is over.
			all.Go(func() {
				for a.goesOn() {
					a.pace()
					a.note(kind.name, kind.do())
				}
			})
		}
	}
	all.Wait()
	a.found.Processor = processor().Seconds() / time.Since(a.began).Seconds()
	return a.found
}

func (a *attack) goesOn() bool { return time.Since(a.began) < a.lasting }

func (a *attack) note(kind string, status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.found.Answers[fmt.Sprintf("%s %d", kind, status)]++
}

// processor is the processor time that this process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// pace waits while the program has used more than its share.
func (a *attack) pace() {
	for a.goesOn() && processor() > time.Duration(a.share*float64(time.Since(a.began))) {
		time.Sleep(paceLook)
	}
}

// names is a body of many names, which are what takes longest to check.
func (a *attack) names() string {
	var b strings.Builder
	b.WriteString(`{"model":"` + a.model + `","messages":[{"role":"user","content":"hello"}],"x":{`)
	for i := 0; b.Len() < largeBytes; i++ {
		fmt.Fprintf(&b, `"n%d":1,`, i)
	}
	return b.String() + `"z":1}}`
}

// open sends the head of a call.
func (a *attack) open(length int, headers string) (net.Conn, bool) {
	conn, err := net.Dial("tcp", a.address)
	if err != nil {
		time.Sleep(dialPause)
		return nil, false
	}
	_ = conn.SetDeadline(a.began.Add(a.lasting + lateMax))
	_, err = fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nX-Error-Status: standard\r\nContent-Length: %d\r\n%s\r\n", a.key, length, headers)
	return conn, err == nil
}

// declare promises a large body, sends 200 bytes and, with a pause, goes on to send one byte after each.
func (a *attack) declare(pause time.Duration) int {
	conn, ok := a.open(declaredBytes, "")
	if !ok {
		return 0
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, `{"model":"`+strings.Repeat("x", 190))
	answered := make(chan int, 1)
	var reading sync.WaitGroup
	// goroutine: declare owns it and waits for it; it ends with the answer or when declare closes the connection.
	reading.Go(func() { answered <- status(conn) })
	defer reading.Wait()
	defer func() { _ = conn.Close() }()
	for a.goesOn() {
		select {
		case s := <-answered:
			return s
		case <-time.After(max(pause, dribbleEvery)):
		}
		if pause > 0 {
			_, _ = io.WriteString(conn, "x")
		}
	}
	return 0
}

// post sends a large body piece by piece, as far as the gateway takes it.
func (a *attack) post(body string, dry bool) int {
	headers := ""
	if dry {
		headers = "X-Dry-Run: 1\r\n"
	}
	conn, ok := a.open(len(body), headers)
	if !ok {
		return 0
	}
	defer func() { _ = conn.Close() }()
	for len(body) > 0 && a.goesOn() {
		a.pace()
		n, err := io.WriteString(conn, body[:min(writeBytes, len(body))])
		if err != nil {
			break
		}
		body = body[n:]
	}
	if !a.goesOn() {
		return 0
	}
	return status(conn)
}

// leave begins a stream and ends the connection when it has begun, or before.
func (a *attack) leave() int {
	body := `{"model":"` + a.model + `","stream":true,"messages":[{"role":"user","content":"count to 5000"}]}`
	conn, ok := a.open(len(body), "")
	if !ok {
		return 0
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, body)
	if time.Now().UnixNano()%2 == 0 {
		return 0
	}
	return status(conn)
}

// get sends one request.
func (a *attack) get(path string) int {
	req, err := http.NewRequest(http.MethodGet, a.url+path, http.NoBody)
	if err != nil {
		return 0
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	resp, err := a.client.Do(req)
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// status reads the first line of an answer; zero when there is none.
func status(conn net.Conn) int {
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	return resp.StatusCode
}
