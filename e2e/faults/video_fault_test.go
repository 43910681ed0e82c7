package faults

import (
	"bytes"
	endian "encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// videoFault is a way for the upstream to behave after it was asked for a video, and how the job ends all the same.
type videoFault struct {
	name  string
	model string
	// does is a directive of the simulator.
	does string
	ends string
	// code is that of the failure.
	code string
	// made is the number of renders that the upstream has made.
	made int
	// moves is a change to the job's row that has the effect of time passing. It runs when the condition at holds.
	moves string
	at    string
}

const (
	minutesLater = `upstream = jsonb_set(upstream, '{denied_since}', to_jsonb(now() - interval '6 minutes'))`
	aDayLater    = `deadline_at = now()`
	unseenLong   = `created_at = created_at - interval '3 minutes'`
)

var videoFaults = []videoFault{
	{name: "create is reset, but the job exists", model: harness.VideosModel, does: "late-create;reset", ends: "completed", made: 1},
	{name: "create times out, but the job exists", model: harness.VideosModel, does: "late-create;status=504", ends: "completed", made: 1},
	{name: "create is cut, but the job exists by our name", model: harness.TasksModel, does: "late-create;reset", ends: "completed", made: 1},
	{name: "create times out, and there is no job", model: harness.VideosModel, does: "status=504", ends: "failed", code: "upstream_error",
		moves: unseenLong, at: `state = 'uncertain'`},
	{name: "the job vanishes", model: harness.VideosModel, does: "vanish", ends: "failed", code: "upstream_job_lost",
		made: 1, moves: minutesLater, at: `upstream ? 'denied_since'`},
	{name: "the status goes backwards", model: harness.VideosModel, does: "backwards", ends: "completed", made: 1},
	{name: "completed, then failed", model: harness.VideosModel, does: "flip", ends: "completed", made: 1},
	{name: "completed, then failed, operations", model: harness.OperationsModel, does: "flip", ends: "completed", made: 1},
	{name: "progress 150", model: harness.VideosModel, does: "progress=150", ends: "completed", made: 1},
	{name: "progress -1", model: harness.VideosModel, does: "progress=-1", ends: "completed", made: 1},
	{name: "an unknown status", model: harness.VideosModel, does: "unknown-status", ends: "completed", made: 1},
	{name: "looks fail for a while", model: harness.OperationsModel, does: "on=status;status=500;times=3", ends: "completed", made: 1},
	{name: "never terminal", model: harness.VideosModel, does: "never", ends: "failed", code: "upstream_status_unavailable",
		made: 1, moves: aDayLater, at: `state = 'in_progress'`},
	{name: "the content is absent at first", model: harness.VideosModel, does: "on=content;status=404;times=1", ends: "completed", made: 1},
	{name: "the content is short at first", model: harness.VideosModel, does: "content=short;times=1", ends: "completed", made: 1},
	{name: "the content is empty at first", model: harness.OperationsModel, does: "content=empty;times=1", ends: "completed", made: 1},
	{name: "the content is a page at first", model: harness.TasksModel, does: "content=html;times=1", ends: "completed", made: 1},
	{name: "the content is slow", model: harness.VideosModel, does: "content=slow;slow-drip=1ms", ends: "completed", made: 1},
	{name: "the content is never there", model: harness.OperationsModel, does: "on=content;status=404", ends: "failed", code: "content_unavailable", made: 1},
	{name: "the content is always short", model: harness.VideosModel, does: "content=short", ends: "failed", code: "content_unavailable", made: 1},
	{name: "the content is always empty", model: harness.TasksModel, does: "content=empty", ends: "failed", code: "content_unavailable", made: 1},
	{name: "the content is always a page", model: harness.VideosModel, does: "content=html", ends: "failed", code: "content_unavailable", made: 1},
	{name: "the content is something else", model: harness.VideosModel, does: "content=wrong-type", ends: "failed", code: "content_unavailable", made: 1},
}

// TestFaultVideoUpstreamMisbehaves takes jobs through all that an upstream may do to them after it was asked: each ends
// once, at its whole price or at none, is never sent twice, and never goes back before the client's eyes.
func TestFaultVideoUpstreamMisbehaves(t *testing.T) {
	t.Parallel()
	c := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "video-faults")
	before := c.Balance(t)
	hear := harness.NewWebhookReceiver(t)
	c.AddWebhook(t, hear)
	db := c.DB(t)
	prompt := func(f videoFault) string { return "simulate: " + f.does + "\nwhen " + f.name + "." }
	ids := map[string]string{}
	for _, f := range videoFaults {
		ids[f.name] = harness.TextMember(c.CreateVideo(t, harness.VideoBody(f.model, prompt(f))), "id")
	}
	for _, f := range videoFaults {
		if f.moves == "" {
			continue
		}
		harness.WaitUntil(t, f.name, func() bool {
			done, err := db.Exec(`update video_jobs set `+f.moves+` where id = $1 and `+f.at, ids[f.name])
			if err != nil {
				t.Fatal(err)
			}
			n, _ := done.RowsAffected()
			return n == 1
		})
	}
	unready := c.Call(t, http.MethodGet, harness.VideosPath+"/"+ids["the content is always short"]+"/content", "")
	if unready.Status != http.StatusBadRequest || !strings.Contains(unready.Body, "video_not_ready") {
		t.Errorf("unfinished content: %d %s", unready.Status, unready.Body)
	}
	c.FinishJobs(t)
	byPrompt := map[string]harness.JobRecord{}
	for _, s := range c.CheckJobs(t, before) {
		byPrompt[s.Prompt] = s
	}
	for _, f := range videoFaults {
		got := byPrompt[prompt(f)]
		if o := c.WaitVideo(t, ids[f.name]); got.State != f.ends || got.Code != f.code || harness.TextMember(o, "status") != f.ends || harness.TextMember(o, "error", "code") != f.code {
			t.Errorf("%s: %+v", f.name, got)
		}
		if made := upstreamRenders(t, c.Gateway, prompt(f)); len(made) != f.made {
			t.Errorf("%s: the upstream has %d renders", f.name, len(made))
		}
	}
	harness.CheckRetriesEqual(t, hear.Received())
	rangesOf(t, c, ids["the content is short at first"])
}

// rangesOf asks for parts of a film, in and out of it.
func rangesOf(t *testing.T, c harness.Customer, id string) {
	t.Helper()
	path := harness.VideosPath + "/" + id + "/content"
	whole := c.Call(t, http.MethodGet, path, "")
	for value, want := range map[string]struct {
		status int
		body   string
	}{
		"bytes=0-9": {http.StatusPartialContent, whole.Body[:10]},
		"bytes=-5":  {http.StatusPartialContent, whole.Body[len(whole.Body)-5:]},
		fmt.Sprintf("bytes=%d-", len(whole.Body)):      {http.StatusRequestedRangeNotSatisfiable, ""},
		"bytes=999999999999-":                          {http.StatusRequestedRangeNotSatisfiable, ""},
		fmt.Sprintf("bytes=0-%d", 1<<40):               {http.StatusPartialContent, whole.Body},
		"bytes=9-1":                                    {http.StatusRequestedRangeNotSatisfiable, ""},
		"furlongs=1-2":                                 {http.StatusOK, whole.Body}, // RFC 9110, section 14.2: unknown units are ignored.
		"bytes=" + strings.Repeat("0-0,", 200) + "1-1": {0, ""},
	} {
		a := c.Call(t, http.MethodGet, path, "", "Range", value)
		if want.status != 0 && (a.Status != want.status || want.body != "" && a.Body != want.body) || a.Status >= 500 || len(a.Body) > len(whole.Body)+4096 {
			t.Errorf("%.40s: %d with %d bytes", value, a.Status, len(a.Body))
		}
	}
}

// stillOf is a picture of the size of a video, as PNG or JPEG.
func stillOf(t *testing.T, kind string) string {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 720, 1280))
	for i := range img.Pix {
		img.Pix[i] = byte(rand.IntN(8))
	}
	img.Set(1, 1, color.White)
	var b bytes.Buffer
	err := png.Encode(&b, img)
	if kind == "jpeg" {
		b.Reset()
		err = jpeg.Encode(&b, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// vastPNG says that it is 50,000 pixels a side, in a few bytes.
func vastPNG() string {
	var b bytes.Buffer
	b.WriteString("\x89PNG\r\n\x1a\n")
	chunk := func(name string, data []byte) {
		_ = endian.Write(&b, endian.BigEndian, uint32(len(data)))
		body := append([]byte(name), data...)
		b.Write(body)
		_ = endian.Write(&b, endian.BigEndian, crc32.ChecksumIEEE(body))
	}
	chunk("IHDR", []byte{0, 0, 0xc3, 0x50, 0, 0, 0xc3, 0x50, 8, 2, 0, 0, 0})
	chunk("IDAT", []byte{0x78, 0x9c, 3, 0, 0, 0, 0, 1})
	chunk("IEND", nil)
	return b.String()
}

// animatedWebP is the beginning of a WebP file whose head says that it moves.
func animatedWebP() string {
	body := "WEBPVP8X\x0a\x00\x00\x00\x02\x00\x00\x00\xcf\x02\x00\xff\x04\x00" + "ANIM\x06\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
		"ANMF\x18\x00\x00\x00" + strings.Repeat("\x00", 24)
	size := make([]byte, 4)
	endian.LittleEndian.PutUint32(size, uint32(len(body)))
	return "RIFF" + string(size) + body
}

// abuse is a form that must be refused.
type abuse struct {
	name        string
	body        string
	contentType string
	// says is a part of the message.
	says string
}

func abuses(t *testing.T) []abuse {
	t.Helper()
	of := func(name, says string, parts ...harness.FormPart) abuse {
		body, contentType := harness.FormBody(t, append([]harness.FormPart{{Name: "model", Value: harness.VideosModel}, {Name: "prompt", Value: "an abuse"}}, parts...)...)
		return abuse{name, body, contentType, says}
	}
	file := func(name, mediaType, data string) harness.FormPart {
		return harness.FormPart{Name: fileFieldName, File: name, MediaType: mediaType, Value: data}
	}
	still, photo := stillOf(t, "png"), stillOf(t, "jpeg")
	var many []harness.FormPart
	for i := range 10_000 {
		many = append(many, harness.FormPart{Name: fmt.Sprint("part", i), Value: "x"})
	}
	nested, nestedType := harness.FormBody(t, harness.FormPart{Name: "prompt", Value: "inner"})
	plain := of("", "", file("a.png", "image/png", still))
	_, boundary, _ := strings.Cut(plain.contentType, "boundary=")
	return []abuse{
		of("10,000 parts", "64 parts", many...),
		{"part headers of 1 MB", "--b\r\nContent-Disposition: form-data; name=\"prompt\"\r\nX-Long: " + strings.Repeat("a", 1<<20) +
			"\r\n\r\nx\r\n--b--\r\n", "multipart/form-data; boundary=b", "model is required"},
		{"10,000 part headers", "--b\r\nContent-Disposition: form-data; name=\"prompt\"\r\n" + strings.Repeat("X-A: b\r\n", 10_000) +
			"\r\nx\r\n--b--\r\n", "multipart/form-data; boundary=b", "cannot be read"},
		{"no boundary named", plain.body, "multipart/form-data", "boundary"},
		{"another boundary", strings.ReplaceAll(plain.body, boundary, "other"), plain.contentType, "boundary"},
		{"no end", strings.TrimSuffix(plain.body, "--"+boundary+"--\r\n"), plain.contentType, "cannot be read"},
		{"empty", "", plain.contentType, ""},
		of("nested", "input_reference", harness.FormPart{Name: fileFieldName, File: "a.png", MediaType: strings.Replace(nestedType, "form-data", "mixed", 1), Value: nested}),
		of("two files", "twice", file("a.png", "image/png", still), file("b.png", "image/png", still)),
		of("a file elsewhere", "picture", harness.FormPart{Name: "picture", File: "a.png", MediaType: "image/png", Value: still}),
		of("a wrong type", "PNG", file("a.jpg", "image/jpeg", still)),
		of("a polyglot", "behind its picture", file("a.png", "image/png", still+"PK\x03\x04<script>alert(1)</script>")),
		of("a polyglot photo", "behind its picture", file("a.jpg", "image/jpeg", photo+"%PDF-1.7")),
		of("50,000 by 50,000", "40 million", file("a.png", "image/png", vastPNG())),
		of("an animation", "input_reference", file("a.webp", "image/webp", animatedWebP())),
		of("half a photo", "cut or damaged", file("a.jpg", "image/jpeg", photo[:len(photo)/2])),
		of("half a picture", "cut or damaged", file("a.png", "", still[:len(still)/2])),
		of("SVG under a false name", "JPEG, PNG or WebP", file("a.png", "image/png", `<svg xmlns="http://www.w3.org/2000/svg" width="720" height="1280"/>`)),
		of("nothing", "JPEG, PNG or WebP", file("a.png", "image/png", "")),
	}
}

const fileFieldName = "input_reference"

// TestFaultMultipartAbuse sends forms that are made to hurt: each is a clear 400, costs nothing, reaches no upstream, and
// leaves neither memory nor files behind.
func TestFaultMultipartAbuse(t *testing.T) {
	t.Parallel()
	c := harness.NewVideoCustomer(t, harness.StartVideoDemo(t), "forms")
	before, seen := c.Balance(t), upstreamRenders(t, c.Gateway, "")
	all := abuses(t)
	for _, path := range []string{harness.VideosPath, harness.VideosPath + "/video_none/remix"} {
		for _, one := range all {
			refusesForm(t, c, one, path)
		}
	}
	good := c.PostForm(t, harness.VideosPath, harness.FormPart{Name: "model", Value: harness.VideosModel}, harness.FormPart{Name: "prompt", Value: "well formed"},
		harness.FormPart{Name: fileFieldName, File: "a.png", MediaType: "image/png", Value: stillOf(t, "png")})
	harness.DecodeVideo(t, good)
	calm := peakMemory(t, c.Gateway)
	errs := make(chan error, 8)
	for range cap(errs) {
		go func() {
			var err error
			for i := 0; i < len(all) && err == nil; i++ {
				_, err = c.TryCall(t.Context(), http.MethodPost, harness.VideosPath, all[i].body, "Content-Type", all[i].contentType)
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	// roomMax is for eight calls at once, each with a picture, its pixels, and twice that under the race detector.
	const roomMax = 400 << 20
	if peak := peakMemory(t, c.Gateway); peak > calm+roomMax {
		t.Errorf("memory went from %d to %d MiB", calm>>20, peak>>20)
	} else {
		t.Logf("memory went from %d to %d MiB", calm>>20, peak>>20)
	}
	holdsNoTempFiles(t, c.Gateway)
	c.WaitVideo(t, harness.TextMember(harness.DecodeObject(t, good.Body), "id"))
	c.FinishJobs(t)
	if got := len(upstreamRenders(t, c.Gateway, "")) - len(seen); got != 1 {
		t.Errorf("%d renders were asked for, not one", got)
	}
	if stories := c.CheckJobs(t, before); len(stories) != 1 {
		t.Errorf("%d jobs were made, not one", len(stories))
	}
}

func refusesForm(t *testing.T, c harness.Customer, one abuse, path string) {
	t.Helper()
	began := time.Now()
	a := c.Call(t, http.MethodPost, path, one.body, "Content-Type", one.contentType)
	var said struct {
		Error struct{ Code, Message string }
	}
	_ = json.Unmarshal([]byte(a.Body), &said)
	remix := path != harness.VideosPath
	if a.Status != http.StatusBadRequest && (!remix || a.Status != http.StatusNotFound) || said.Error.Code == "" || said.Error.Message == "" ||
		!remix && !strings.Contains(said.Error.Message, one.says) {
		t.Errorf("%s to %s: %d %s", one.name, path, a.Status, a.Body)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("%s took %s", one.name, took)
	}
}

// peakMemory is the most that the gateway's process has had resident.
func peakMemory(t *testing.T, g *harness.Gateway) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.PID))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatal("the process does not say what memory it has")
	return 0
}

// holdsNoTempFiles insists that no file of a form is open, linked or not.
func holdsNoTempFiles(t *testing.T, g *harness.Gateway) {
	t.Helper()
	open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", g.PID))
	if err != nil || len(open) == 0 {
		t.Fatalf("no open files are to be seen: %v", err)
	}
	for _, fd := range open {
		if target, _ := os.Readlink(fd); strings.Contains(target, "multipart-") || strings.Contains(target, "umg-form") {
			t.Errorf("%s is open", target)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "multipart-*")); len(left) > 0 {
		t.Errorf("files of forms are left: %v", left)
	}
}
