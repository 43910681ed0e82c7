package simulator

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// each runs a test in every style.
func each(t *testing.T, run func(t *testing.T, style string)) {
	t.Helper()
	for _, style := range styleNames {
		t.Run(style, func(t *testing.T) {
			t.Parallel()
			run(t, style)
		})
	}
}

func TestFaultStatusSpeaksTheStyle(t *testing.T) {
	t.Parallel()
	schemas := loadSchemas(t)
	want := map[string]string{
		"chat": `{"error":{"message":"Rate limit reached, please slow down.","type":"rate_limit_error","param":null,` +
			`"code":"rate_limit_exceeded"}}`,
		"messages":  `"error":{"type":"rate_limit_error","message":"Rate limit reached, please slow down."}`,
		"responses": `"type":"rate_limit_error"`,
		"native":    `{"error":{"code":429,"message":"Rate limit reached, please slow down.","status":"RESOURCE_EXHAUSTED"}}`,
	}
	each(t, func(t *testing.T, style string) {
		u := setup(t, Options{})
		res := u.post(style, ask{text: "echo: x", stream: true, simulated: "status=429;retry-after=7"})
		if res.status != 429 || res.header.Get("Retry-After") != "7" || !strings.Contains(string(res.body), want[style]) {
			t.Errorf("%d %v %s", res.status, res.header, res.body)
		}
		for _, status := range []int{400, 401, 402, 403, 404, 418, 429, 500, 502, 503, 504, 529, 599} {
			res := u.post(style, ask{text: "echo: x", simulated: "status=" + strconv.Itoa(status)})
			if res.status != status {
				t.Errorf("want %d, got %d", status, res.status)
			}
			switch style {
			case "messages":
				if status != 409 && status != 408 {
					schemas.fits(t, "messages#/definitions/ErrorResponse", res.body)
				}
			case "native":
				if !strings.Contains(string(res.body), `"status":"`) {
					t.Errorf("%s", res.body)
				}
			default:
				schemas.fits(t, "open#/components/schemas/ErrorResponse", res.body)
			}
		}
	})
}

func TestFaultStrikesAsOftenAsItSays(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	statuses := func(n int, post func() answered) string {
		var all []string
		for range n {
			all = append(all, strconv.Itoa(post().status))
		}
		return strings.Join(all, " ")
	}
	for name, c := range map[string]struct {
		ask  ask
		want string
	}{
		"header":      {ask{text: "echo: x", simulated: "status=503;times=2"}, "503 503 200 200"},
		"model":       {ask{text: "echo: x", model: "small+status=503+times=1"}, "503 200 200 200"},
		"fault/":      {ask{text: "echo: x", model: "fault/status=500;times=1"}, "500 200 200 200"},
		"prompt":      {ask{text: "simulate: status=502;times=1\necho: x"}, "502 200 200 200"},
		"skip":        {ask{text: "echo: x", simulated: "status=503;skip=1;times=1"}, "200 503 200 200"},
		"every":       {ask{text: "echo: x", simulated: "status=503;every=2"}, "503 200 503 200"},
		"every time":  {ask{text: "echo: x", simulated: "status=503"}, "503 503 503 503"},
		"other model": {ask{text: "echo: x", model: "other", simulated: "status=503;times=2"}, "503 503 200 200"},
	} {
		if got := statuses(4, func() answered { return u.post("chat", c.ask) }); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	shared := []string{"status=503;times=1;key=a", "auth;times=1;key=a"}
	got := statuses(1, func() answered { return u.post("chat", ask{simulated: shared[0]}) }) +
		statuses(1, func() answered { return u.post("messages", ask{simulated: shared[1]}) })
	if got != "503200" {
		t.Errorf("a shared key is not shared: %s", got)
	}
	plain := u.post("native", ask{text: "simulate: no-end\necho: x", model: "small+pace=1ms"})
	if r := read(t, "native", false, plain.body); r.text == "" || !strings.Contains(string(plain.body), `"modelVersion":"small"`) {
		t.Errorf("%s", plain.body)
	}
}

func TestUnknownFaultIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, style string) {
		u := setup(t, Options{})
		for _, spec := range []string{"explode", "status=200", "status=x", "times=0", "cut-after=-1", "cut-after=t", "malformed-at=0",
			"usage=strange", "frames=round", "slow-first=1h", "slow-first", "huge-line=999999999999", "no-end=yes",
			"code", strings.Repeat("x", 5000)} {
			res := u.post(style, ask{text: "echo: x", simulated: spec})
			if res.status != 400 || !strings.Contains(string(res.body), "fault") {
				t.Errorf("%.20q: %d %s", spec, res.status, res.body)
			}
		}
	})
}

func TestFaultWholeAnswers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, style string) {
		u := setup(t, Options{StallMax: 20 * time.Millisecond})
		post := func(spec string, stream bool) answered {
			return u.post(style, ask{text: "count to 5", stream: stream, simulated: spec})
		}
		if res := post("auth", false); res.status != 401 || !json.Valid(res.body) {
			t.Errorf("auth: %d %s", res.status, res.body)
		}
		if res := post("redirect=http://elsewhere.example/x", false); res.status != 302 ||
			res.header.Get("Location") != "http://elsewhere.example/x" {
			t.Errorf("redirect: %d %v", res.status, res.header)
		}
		if res := post("redirect", false); res.header.Get("Location") != "http://169.254.169.254/latest/meta-data/" {
			t.Errorf("redirect: %v", res.header)
		}
		if res := post("html", true); res.status != 200 || !strings.Contains(res.header.Get("Content-Type"), "html") ||
			!strings.Contains(string(res.body), "<html") {
			t.Errorf("html: %d %s", res.status, res.body)
		}
		for _, stream := range []bool{false, true} {
			if res := post("empty", stream); res.status != 200 || len(res.body) != 0 || res.err != nil {
				t.Errorf("empty: %d %q %v", res.status, res.body, res.err)
			}
			if res := post("reset", stream); !errors.Is(res.failed, syscall.ECONNRESET) {
				t.Errorf("reset: %v", res.failed)
			}
			if res := post("stall", stream); !errors.Is(res.failed, io.EOF) {
				t.Errorf("stall that ends: %v", res.failed)
			}
			res := post("truncated-json", stream)
			data := strings.TrimPrefix(string(res.body), "data: ")
			if res.status != 200 || res.err != nil || data == "" || json.Valid([]byte(data)) {
				t.Errorf("truncated-json: %d %v %s", res.status, res.err, res.body)
			}
			res = post("error-in-200;status=503", stream)
			if res.status != 200 || !strings.Contains(string(res.body), "overloaded") || strings.HasPrefix(string(res.body), "{") == stream {
				t.Errorf("error-in-200: %d %s", res.status, res.body)
			}
		}
		if res := post("error-in-200;json-instead-of-stream", true); !strings.HasPrefix(string(res.body), "{") {
			t.Errorf("error-in-200 as JSON: %s", res.body)
		}
	})
}

func TestFaultWrongForm(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, style string) {
		u := setup(t, Options{})
		post := func(spec string, stream bool) answered {
			return u.post(style, ask{text: "count to 5", stream: stream, simulated: spec})
		}
		if res := post("json-instead-of-stream", true); read(t, style, false, res.body).text != counting(5) ||
			res.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s", res.body)
		}
		if style != "native" {
			if res := post("stream-instead-of-json", false); read(t, style, true, res.body).text != counting(5) {
				t.Errorf("%s", res.body)
			}
		}
		if res := post("content-type=text/plain", true); res.header.Get("Content-Type") != "text/plain" ||
			read(t, style, true, res.body).text != counting(5) {
			t.Errorf("%v %s", res.header, res.body)
		}
		res := post("headers=2000;header-bytes=5000", false)
		if len(res.header) < 2000 || len(res.header.Get("X-Filler")) != 5000 {
			t.Errorf("%d headers", len(res.header))
		}
		res = post("gzip=5000000", false)
		unzip, err := gzip.NewReader(strings.NewReader(string(res.body)))
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, unzip)
		if n != 5_000_000 || err != nil || len(res.body) > 50_000 || res.header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%d bytes packed into %d, %v", n, len(res.body), err)
		}
		for _, stream := range []bool{false, true} {
			res = post("huge-line=300000", stream)
			longest := 0
			for line := range strings.Lines(string(res.body)) {
				longest = max(longest, len(line))
			}
			if r := read(t, style, stream, res.body); longest < 300_000 || longest > 300_020 || r.text != counting(5) {
				t.Errorf("longest line %d, %q", longest, r.text)
			}
		}
	})
}

func TestFaultBreaksOffInTheMiddle(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, style string) {
		u := setup(t, Options{StallMax: 20 * time.Millisecond})
		for directive, broken := range map[string]func(error) bool{
			"cut-after":   func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) },
			"reset-after": func(err error) bool { return errors.Is(err, syscall.ECONNRESET) },
			"stall-after": func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) },
			"end-after":   func(err error) bool { return err == nil },
			"error-after": func(err error) bool { return err == nil },
		} {
			for _, tokens := range []int{0, 1, 7} {
				res := u.post(style, ask{text: "count to 20", stream: true, simulated: directive + "=" + strconv.Itoa(tokens) + "t"})
				r := read(t, style, true, res.body)
				if r.frames != tokens || res.status != 200 || !broken(res.err) {
					t.Errorf("%s=%dt: %d tokens, %v", directive, tokens, r.frames, res.err)
				}
				if style != "responses" && r.ended || directive != "error-after" && r.ended || r.finish != "" && r.finish != "failed" {
					t.Errorf("%s=%dt ends as if complete: %+v", directive, tokens, r)
				}
				if (r.failed != "") != (directive == "error-after") {
					t.Errorf("%s: error %q", directive, r.failed)
				}
			}
			res := u.post(style, ask{text: "count to 20", stream: true, simulated: directive + "=4"})
			want := 4
			if directive == "error-after" {
				want++
			}
			if got := len(framesOf(res.body)); got != want {
				t.Errorf("%s=4: %d frames", directive, got)
			}
		}
		for spec, whole := range map[string]bool{"cut-after=0": false, "cut-after=1": true, "reset-after=1": true, "stall-after=1": true} {
			res := u.post(style, ask{text: "count to 20", simulated: spec})
			if res.err == nil || len(res.body) > 0 != whole || json.Valid(res.body) {
				t.Errorf("%s of a body: %v %q", spec, res.err, res.body)
			}
		}
	})
}

func TestFaultLateErrorTakesTheWordsOfTheStatus(t *testing.T) {
	t.Parallel()
	schemas := loadSchemas(t)
	want := map[string]string{"chat": `"code":"rate_limit_exceeded"`, "messages": `"type":"rate_limit_error"`,
		"responses": `"code":"rate_limit_exceeded"`, "native": `"status":"RESOURCE_EXHAUSTED"`}
	each(t, func(t *testing.T, style string) {
		u := setup(t, Options{})
		res := u.post(style, ask{text: "count to 9", stream: true, simulated: "error-after=2t;status=429"})
		all := framesOf(res.body)
		last := all[len(all)-1]
		if res.status != 200 || !strings.Contains(last.data, want[style]) {
			t.Errorf("%+v", last)
		}
		if style == "responses" {
			schemas.check(t, style, true, res.body)
			if !strings.Contains(last.data, `"sequence_number":`+strconv.Itoa(len(all)-1)+`,`) {
				t.Errorf("the numbers do not go on: %s", last.data)
			}
		}
	})
}

func TestFaultSpoilsTheStream(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, style string) {
		u := setup(t, Options{StallMax: 20 * time.Millisecond})
		post := func(spec string) answered {
			return u.post(style, ask{text: "count to 5", stream: true, simulated: spec})
		}
		clean := framesOf(post("").body)
		bad := framesOf(post("malformed-at=3").body)
		if len(bad) != len(clean) || json.Valid([]byte(bad[2].data)) || !json.Valid([]byte(bad[1].data)) || !json.Valid([]byte(bad[3].data)) {
			t.Errorf("malformed-at=3: %+v", bad)
		}
		if r := read(t, style, true, post("no-end").body); r.ended || r.text != counting(5) {
			t.Errorf("no-end: %+v", r)
		}
		extra := string(post("ok-then-extra").body)
		if !strings.Contains(extra, "trailing garbage") || len(framesOf([]byte(extra))) != len(clean)+2 {
			t.Errorf("ok-then-extra: %s", extra)
		}
		for _, stream := range []bool{true, false} {
			res := u.post(style, ask{text: "count to 5", stream: stream, simulated: "keep-open"})
			if r := read(t, style, stream, res.body); r.text != counting(5) || (res.err != nil) != stream {
				t.Errorf("keep-open: %+v %v", r, res.err)
			}
		}
	})
}

// TestFaultClosesTheIdleConnection proves that the answer promises to keep the connection and then breaks the
// promise.
func TestFaultClosesTheIdleConnection(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(u.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"model":"m","messages":[{"role":"user","content":"echo: x"}]}`
	_, err = io.WriteString(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"+
		"Content-Type: application/json\r\nX-Simulate: close-idle\r\n"+
		"Content-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(res.Body)
	if err != nil || res.Close || read(t, "chat", false, got).text != "x" {
		t.Errorf("%v, close %t, %s", err, res.Close, got)
	}
	if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the connection stays open: %v", err)
	}
}

func TestFaultUsage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, style string) {
		u := setup(t, Options{})
		post := func(form string, stream bool) []byte {
			return u.post(style, ask{text: "count to 5", stream: stream, simulated: "usage=" + form}).body
		}
		word := map[string]string{"native": "usageMetadata"}[style]
		if word == "" {
			word = `"usage":{`
		}
		for _, stream := range []bool{false, true} {
			if got := string(post("none", stream)); strings.Contains(got, word) {
				t.Errorf("none: %s", got)
			}
			for form, mark := range map[string]string{"negative": `":-5`, "huge": `":1099511627781`, "string": `":"5"`, "float": `":5.5`} {
				if got := string(post(form, stream)); !strings.Contains(got, mark) {
					t.Errorf("%s: %s", form, got)
				}
			}
			if r := read(t, style, stream, post("777", stream)); r.out != 777 || r.text != counting(5) {
				t.Errorf("claim: %+v", r)
			}
		}
		if got := string(post("twice", false)); strings.Count(got, word) != 2 {
			t.Errorf("twice: %s", got)
		}
		if r := read(t, style, true, post("twice", true)); r.usages < 2 || r.out != 5 {
			t.Errorf("twice: %+v", r)
		}
		if got := string(post("every", true)); strings.Count(got, word) < 5 {
			t.Errorf("every: %s", got)
		}
		first := framesOf(post("first", true))
		if !strings.Contains(first[0].data, word) || strings.Contains(first[len(first)-2].data+first[len(first)-1].data, word) {
			t.Errorf("first: %+v", first)
		}
		r := read(t, style, false, u.post(style, ask{text: "say 20 words", simulated: "cached=3"}).body)
		if r.cached != 3 {
			t.Errorf("cached: %+v", r)
		}
		if r := read(t, style, false, u.post(style, ask{text: "x", simulated: "cached=999"}).body); r.cached != r.in {
			t.Errorf("cached beyond the input: %+v", r)
		}
	})
}

func TestFaultIgnoresTheLimit(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, style string) {
		u := setup(t, Options{})
		for _, stream := range []bool{false, true} {
			r := read(t, style, stream, u.post(style, ask{text: "say 50 words", limit: 20, stream: stream, simulated: "ignore-max-tokens"}).body)
			if r.out != 50 || r.text != saying(50) {
				t.Errorf("%+v", r)
			}
		}
		if r := read(t, style, false, u.post(style, ask{text: "say 50 words", limit: 20, simulated: "endless"}).body); r.out < endlessBodyTokens {
			t.Errorf("endless body: %d tokens", r.out)
		}
	})
}

// TestFaultEndlessEndsWithTheClient proves that an endless stream goes on until its client disconnects.
func TestFaultEndlessEndsWithTheClient(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, style string) {
		u := setup(t, Options{Control: true})
		path, body := forms[style](ask{model: "m+endless", text: "echo: on and on", stream: true, limit: 20})
		in, leave := u.open(path, body)
		lines := 0
		for lines < 20_000 {
			if _, err := in.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			lines++
		}
		leave()
		got := u.finished(1)[0]
		if !got.ClientLeft || got.BytesSent < 100_000 {
			t.Errorf("%+v", got)
		}
	})
}

func TestFaultSlowness(t *testing.T) {
	t.Parallel()
	u := setup(t, Options{Now: time.Now})
	took := func(a ask) time.Duration {
		start := time.Now()
		if res := u.post("chat", a); res.status != 200 && res.status != 503 || res.err != nil {
			t.Errorf("%q: %d %v", a.simulated, res.status, res.err)
		}
		return time.Since(start)
	}
	for _, a := range []ask{
		{text: "echo: x", simulated: "slow-first=40ms"},
		{text: "echo: x", stream: true, simulated: "slow-first=40ms"},
		{text: "echo: x", simulated: "slow-first=40ms;status=503"},
		{text: "count to 9", stream: true, simulated: "pace=5ms"},
		{text: "count to 9", simulated: "pace=5ms"},
		{text: "echo: x", simulated: "slow-drip=100us"},
		{text: "echo: x", stream: true, simulated: "slow-drip=50us"},
	} {
		t.Run(a.simulated, func(t *testing.T) {
			t.Parallel()
			if d := took(a); d < 20*time.Millisecond {
				t.Errorf("%+v took only %s", a, d)
			}
		})
	}
}

// TestFaultDripsByteByByte proves that a drip is read in single bytes and is still the whole answer.
func TestFaultDripsByteByByte(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, style string) {
		u := setup(t, Options{})
		r := read(t, style, true, u.post(style, ask{text: "echo: x", stream: true, simulated: "slow-drip=1us"}).body)
		if r.text != "x" || !r.ended {
			t.Errorf("%+v", r)
		}
	})
}
