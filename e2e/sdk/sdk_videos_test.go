package sdk

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// filmingCasesMin is how many cases a program that makes videos has at least.
const filmingCasesMin = 22

// TestSDKVideosGo makes videos with the official Go client.
func TestSDKVideosGo(t *testing.T) {
	t.Parallel()
	filming(t, "openai-go", sdkProgram(t, "openai"), "videos")
}

// TestSDKVideosNode makes videos with the official JavaScript clients.
func TestSDKVideosNode(t *testing.T) {
	t.Parallel()
	node := harness.NodeProgram(t)
	harness.RequireNodeClients(t)
	for name, packageName := range map[string]string{"openai-js-7": "openai", "openai-js-6": "openai-before"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			filming(t, name, node, "openai-videos.mjs", packageName)
		})
	}
}

// filming runs a program that makes videos, and looks at what it downloaded and paid.
func filming(t *testing.T, name string, args ...string) {
	t.Helper()
	g := harness.SharedVideoDemo(t)
	c, busy := harness.NewVideoCustomer(t, g, name), g.NewCustomer(t, name+"-busy")
	folder := t.TempDir()
	frame := filepath.Join(folder, "frame.png")
	if err := os.WriteFile(frame, firstFrame(t, 720, 1280), 0o600); err != nil {
		t.Fatal(err)
	}
	runCases(t, filmingCasesMin, map[string]any{
		"origin": strings.TrimSuffix(g.BaseURL, "/v1"), "key": c.APIKey, "busy": busy.APIKey,
		"folder": folder, "frame": frame, "pro": harness.OperationsProModel,
		"models": map[string]string{"videos": harness.VideosModel, "operations": harness.OperationsModel, "tasks": harness.TasksModel},
	}, args...)
	probeAll(t, folder)
	paidForFilms(t, c)
}

// runCases runs a program and reports the cases that failed.
func runCases(t *testing.T, casesMin int, config any, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), sdkTimeMax)
	defer cancel()
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, args[0], slices.Concat(args[1:], []string{string(text)})...)
	cmd.Dir = "../node"
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	exit := cmd.Run()
	cases, failed := 0, 0
	for lines := bufio.NewScanner(&stdout); lines.Scan(); cases++ {
		var line struct{ Case, Error string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Errorf("%v in %q", err, lines.Text())
		}
		if line.Error != "" {
			failed++
			t.Errorf("%s: %s", line.Case, line.Error)
		}
	}
	if exit != nil && failed == 0 || cases < casesMin {
		t.Errorf("%d cases, then: %v\n%s", cases, exit, stderr.String())
	}
}

// firstFrame is a picture in two colours.
func firstFrame(t *testing.T, width, height int) []byte {
	t.Helper()
	p := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.NRGBA{R: 200, A: 255}, color.NRGBA{B: 200, A: 255}})
	for i := range min(width, height) {
		p.SetColorIndex(i, i, 1)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// filmedFiles are what each program downloads.
func filmedFiles() []string {
	names := []string{
		"framed-file-video_720x1280_4.mp4", "framed-object-video_720x1280_4.mp4", "framed-reader-video_720x1280_4.mp4",
		"remix-video_720x1280_4.mp4", "unframed-video_720x1280_4.mp4", "wide-video_1280x720_8.mp4", "life-videos-thumbnail_720x1280_4.webp",
	}
	for life, measures := range map[string]string{"videos": "720x1280_4", "operations": "720x1280_4", "tasks": "1280x720_5"} {
		names = append(names, "life-"+life+"-video_"+measures+".mp4", "life-"+life+"-spritesheet_"+measures+".jpg")
		if life != "videos" {
			names = append(names, "life-"+life+"-thumbnail_"+measures+".jpg")
		}
	}
	return names
}

// probeAll asks a program that knows films and pictures what the downloaded ones are, and compares those of one wish.
func probeAll(t *testing.T, folder string) {
	t.Helper()
	contents := map[string]string{}
	for _, name := range filmedFiles() {
		file := filepath.Join(folder, name)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		what, _, _ := strings.Cut(name, "_")
		if strings.HasSuffix(name, ".mp4") {
			contents[what] = string(data)
		}
		probe(t, file)
	}
	if contents["framed-file-video"] != contents["framed-object-video"] || contents["framed-file-video"] != contents["framed-reader-video"] {
		t.Error("the same first frame makes other films as a file and in an object")
	}
	if contents["framed-file-video"] == contents["unframed-video"] || contents["remix-video"] == contents["unframed-video"] {
		t.Error("a first frame, or a remix, changes nothing")
	}
}

// probed is what ffprobe says of a file.
type probed struct {
	Streams []struct {
		Codec  string `json:"codec_name"`
		Type   string `json:"codec_type"`
		Width  int    `json:"width"`
		Height int    `json:"height"`
		Frames string `json:"nb_read_frames"`
	} `json:"streams"`
	Format struct {
		Duration string `json:"duration"`
		Name     string `json:"format_name"`
	} `json:"format"`
}

// probe decodes a file whole and holds it against its name: WHAT-VARIANT_WIDTHxHEIGHT_SECONDS.ENDING.
func probe(t *testing.T, file string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ffprobe", "-v", "error", "-count_frames", "-show_streams", "-show_format", "-of", "json", file).CombinedOutput()
	var p probed
	if err != nil || json.Unmarshal(out, &p) != nil || len(p.Streams) != 1 {
		t.Errorf("%s: %v %s", filepath.Base(file), err, out)
		return
	}
	var width, height, seconds int
	base := filepath.Base(file)
	measures := base[strings.Index(base, "_")+1 : strings.LastIndex(base, ".")]
	if _, err := fmt.Sscanf(measures, "%dx%d_%d", &width, &height, &seconds); err != nil {
		t.Fatal(err)
	}
	s := p.Streams[0]
	frames, _ := strconv.Atoi(s.Frames)
	codec := map[string]string{".mp4": "h264", ".webp": "webp", ".jpg": "mjpeg"}[filepath.Ext(file)]
	good := s.Codec == codec
	switch {
	case strings.Contains(base, "-video_"):
		duration, err := strconv.ParseFloat(p.Format.Duration, 64)
		good = good && err == nil && s.Width == width && s.Height == height && frames >= seconds &&
			duration > float64(seconds)-0.1 && duration < float64(seconds)+0.1 && strings.Contains(p.Format.Name, "mp4")
	case strings.Contains(base, "-thumbnail_"): // A thumbnail is at most 640 wide and 1280 high.
		good = good && frames == 1 && s.Width <= 640 && s.Height <= 1280 && harness.SameShape(s.Width, s.Height, width, height)
	default: // A spritesheet is a grid of five by two.
		good = good && frames == 1 && s.Width%5 == 0 && s.Height%2 == 0 && harness.SameShape(s.Width/5, s.Height/2, width, height)
	}
	if !good {
		t.Errorf("%s is %+v", base, p)
	}
}

// paidForFilms compares what the customer paid with what its jobs say they cost, once all have ended.
func paidForFilms(t *testing.T, c harness.Customer) {
	t.Helper()
	c.WaitFor(t, "all jobs to end", func() bool { return c.Balance(t).Held == 0 })
	var jobs, cost, usage int64
	row := c.DB(t).QueryRow(`select count(*), coalesce(sum(cost_nanos), 0) from usage_records where account_id = $1 and style = 'videos'`, c.AccountID)
	if err := row.Scan(&jobs, &usage); err != nil {
		t.Fatal(err)
	}
	a := c.Call(t, http.MethodGet, harness.VideosPath+"?limit=100&status=completed", "")
	all, _ := harness.Member(harness.DecodeObject(t, a.Body), "data").([]any)
	for _, v := range all {
		seconds, err := strconv.ParseInt(harness.TextMember(v, "seconds"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		cost += seconds * map[string]int64{harness.VideosModel: 80_000_000, harness.OperationsModel: 100_000_000, harness.TasksModel: 60_000_000}[harness.TextMember(v, "model")]
	}
	// This is the price of the deleted video.
	cost += 4 * 80_000_000
	if usage != cost {
		t.Errorf("%d jobs cost %d and not %d nano-dollars", jobs, usage, cost)
	}
	c.CheckLedger(t)
}
