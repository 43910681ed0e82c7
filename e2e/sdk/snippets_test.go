package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// snippetTimeMax is enough for a compiler that meets the clients of Go for the first time.
const snippetTimeMax = 5 * time.Minute

// snippet is a piece of code of a page.
type snippet struct{ page, language, code string }

// reader follows the documents: a customer with credit, a video, an asset and a call.
type reader struct {
	harness.Customer
	management string

	// places are the ids and addresses that stand where a document has an example of one.
	places *strings.Replacer
}

// TestSnippetsRun runs each piece of code of README and of the manual that calls the API or checks an event: those in curl,
// JavaScript and Go as they stand, with ids that exist, and those in Python as far as Python's own library goes.
func TestSnippetsRun(t *testing.T) {
	t.Parallel()
	r := newReader(t)
	count := map[string]int{}
	for _, s := range r.snippets(t) {
		count[s.language]++
		t.Run(s.page+" "+s.language, func(t *testing.T) {
			t.Parallel()
			switch {
			case strings.Contains(s.code, "erify("):
				r.verifies(t, s)
			case s.language == "curl":
				r.runs(t, "bash", "main.sh", "set -euo pipefail\ncurl() { command curl -sS --fail-with-body \"$@\"; }\n"+s.code)
			case s.language == "javascript":
				r.runs(t, harness.NodeProgram(t), "main.mjs", s.code)
			case s.language == "go":
				r.runs(t, "go", "main.go", s.code)
			case s.language == "python":
				r.runs(t, "python3", "main.py", "compile("+harness.Quote(s.code)+", 'snippet', 'exec')")
			}
		})
	}
	if count["curl"] < 25 || count["javascript"] < 5 || count["python"] < 6 || count["go"] < 2 {
		t.Errorf("only these were found: %v", count)
	}
}

func newReader(t *testing.T) *reader {
	t.Helper()
	harness.RequireNodeClients(t)
	c := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "reader")
	p := harness.NewConsoleClient(t, c.Gateway)
	p.SignIn(t, c.Email, c.Password)
	called := c.Call(t, http.MethodPost, harness.ChatPath, harness.ChatRequest(harness.CheapModel, "echo: x"))
	if called.Status != http.StatusOK {
		t.Fatalf("no call: %d %s", called.Status, called.Body)
	}
	film, asset := harness.TextMember(c.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "A lighthouse")), "id"), c.PermanentAsset(t)
	return &reader{Customer: c, management: p.CreateManagementKey(t), places: strings.NewReplacer(
		"http://127.0.0.1:8080", strings.TrimSuffix(c.BaseURL, "/v1"),
		"https://example.com/harbour.png", c.SampleURL("picture.png"), "https://example.com/hooks", harness.NewWebhookReceiver(t).URL,
		"video_…", film, "asset_…", asset, "req_…", called.Header.Get("X-Generation-Id"),
	)}
}

// snippets are the pieces of code of all documents.
func (r *reader) snippets(t *testing.T) (all []snippet) {
	t.Helper()
	pages, err := filepath.Glob("../../app/docs/pages/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		name := filepath.Base(page)
		served := r.Call(t, http.MethodGet, "/console/docs/"+name, "")
		if served.Status != http.StatusOK {
			t.Fatalf("%s: %d", name, served.Status)
		}
		for _, found := range harness.FencePattern.FindAllStringSubmatch(served.Body, -1) {
			switch found[1] {
			case "curl", "python", "javascript", "go":
				all = append(all, snippet{name, found[1], r.places.Replace(found[2])})
			}
		}
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range harness.FencePattern.FindAllStringSubmatch(string(readme), -1) {
		code := r.places.Replace(found[2])
		switch {
		case strings.HasPrefix(code, "curl "):
			all = append(all, snippet{"README.md", "curl", code})
		case found[1] == "javascript" || found[1] == "python":
			all = append(all, snippet{"README.md", found[1], code})
		}
	}
	return all
}

// runs runs a program, which must end well and print no error of the API, and returns what it prints.
func (r *reader) runs(t *testing.T, program, file, code string, stdin ...string) string {
	t.Helper()
	dir := t.TempDir()
	modules, err := filepath.Abs("../node/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, file)
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{path}
	// The program needs the module with the official clients.
	if program == "go" {
		args, dir = []string{"run", path}, "go"
	}
	ctx, cancel := context.WithTimeout(t.Context(), snippetTimeMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	cmd.Stdin = strings.NewReader(strings.Join(stdin, ""))
	cmd.Env = append(os.Environ(), "UMG_API_KEY="+r.APIKey, "UMG_MANAGEMENT_KEY="+r.management)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// A contract contains errors as examples.
	isContract := strings.Contains(code, "/v1/model/")
	if err := cmd.Run(); err != nil || !isContract && harness.EmbeddedErrorPattern.MatchString(out.String()) {
		t.Errorf("%v: %.2000s\nof\n%s", err, out.String(), code)
	}
	return out.String()
}

// verifies gives a function that checks events a true one, and then others.
func (r *reader) verifies(t *testing.T, s snippet) {
	t.Helper()
	on := harness.NewWebhookReceiver(t)
	h := r.AddWebhook(t, on)
	if a := r.Call(t, http.MethodPost, "/v1/webhook_endpoints/"+h.ID+"/test", `{"event_type":"video.completed"}`); a.Status != http.StatusOK {
		t.Fatalf("no test event: %d %s", a.Status, a.Body)
	}
	event := decodedAs(on.Received()[0], "", h.Secret)
	again := func(change func(d *delivered)) delivered {
		d := event
		d.Headers = maps.Clone(event.Headers)
		change(&d)
		return d
	}
	events := []delivered{
		event,
		again(func(d *delivered) { d.Body += " " }),
		again(func(d *delivered) { d.Secret = "whsec_eHh4" }),
		again(func(d *delivered) { d.Headers["webhook-id"] += "x" }),
		again(func(d *delivered) { d.Headers["webhook-timestamp"] = "1" }),
		again(func(d *delivered) { d.Headers["webhook-signature"] = "v1,eHh4" }),
	}
	input, err := json.Marshal(events)
	if err != nil {
		t.Fatal(err)
	}
	ends := map[string][]string{
		"javascript": {harness.NodeProgram(t), "main.mjs", s.code + `
import { readFileSync } from "node:fs";
console.log(JSON.parse(readFileSync(0)).map((e) => verify(e.secret, e.headers, e.body)).join(" "));`},
		"python": {"python3", "main.py", s.code + `
import json, sys
print(*(str(verify(e["secret"], e["headers"], e["body"].encode())).lower() for e in json.load(sys.stdin)))`},
		"go": {"go", "main.go", strings.NewReplacer("package hooks", "package main", "import (", "import (\n\t\"encoding/json\"\n\t\"fmt\"\n\t\"os\"").Replace(s.code) + `
func main() {
	var events []struct {
		Secret, Body string
		Headers      map[string]string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&events); err != nil {
		panic(err)
	}
	for _, e := range events {
		h := http.Header{}
		for name, value := range e.Headers {
			h.Set(name, value)
		}
		fmt.Print(Verify(e.Secret, h, []byte(e.Body), time.Now()), " ")
	}
}`},
	}[s.language]
	if ends == nil {
		t.Fatalf("%s checks no events in %s", s.page, s.language)
	}
	if got := strings.Fields(r.runs(t, ends[0], ends[1], ends[2], string(input))); strings.Join(got, " ") != "true false false false false false" {
		t.Errorf("it says %v", got)
	}
}

// TestTheManualIsThereForPrograms reads the list of the pages, all of them in one, and each as Markdown. Pages of the operator guide
// are not among them.
func TestTheManualIsThereForPrograms(t *testing.T) {
	t.Parallel()
	g := harness.SharedVideoDemo(t)
	list, whole := g.Call(t, http.MethodGet, "/llms.txt", ""), g.Call(t, http.MethodGet, "/llms-full.txt", "")
	if list.Status != http.StatusOK || whole.Status != http.StatusOK {
		t.Fatalf("%d and %d", list.Status, whole.Status)
	}
	for _, text := range []string{list.Body, whole.Body} {
		if strings.Contains(text, "/console/operator/help") || strings.Contains(text, "gateway secret-key replace") {
			t.Error("programs are led to the operator guide")
		}
	}
	pages, err := filepath.Glob("../../app/docs/pages/*.md")
	if err != nil || len(pages) < 15 {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		name := filepath.Base(page)
		one := g.Call(t, http.MethodGet, "/console/docs/"+name, "")
		_, body, _ := strings.Cut(one.Body, "\n## ")
		paragraph, _, _ := strings.Cut(body, "\n\n")
		if one.Status != http.StatusOK || paragraph == "" || !strings.Contains(list.Body, "/console/docs/"+name) || !strings.Contains(whole.Body, paragraph) {
			t.Errorf("%s is not among those for programs, or not whole: %d %.100s", name, one.Status, paragraph)
		}
	}
}
