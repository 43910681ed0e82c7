package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"umg/e2e/harness"
)

// Recipes are followed to the letter: what the page of a tool says is written into its files and run in a shell, by the
// tool itself, with nothing but loopback to call.

const (
	toolsInstall = "install what is missing with: .ci/tools"
	toolTimeMax  = 3 * time.Minute
)

// recipeTool is a tool whose package has what its recipe runs.
type recipeTool struct {
	// recipe is the id of the recipe.
	recipe  string
	command string
	// program is a path below e2e/agents/node_modules, with ARCH for the architecture of this machine.
	program string
	// models is true when the test tries every model that the recipe offers, and not only the one that it chooses.
	models bool
}

var recipeTools = []recipeTool{
	{recipe: "claude-code", command: "claude", program: "@anthropic-ai/claude-code-linux-ARCH/claude", models: true},
	{recipe: "codex", command: "codex", program: "codex-linux-ARCH/vendor/TRIPLE/bin/codex"},
	{recipe: "opencode", command: "opencode", program: "opencode-linux-ARCH/bin/opencode"},
	{recipe: "gemini-cli", command: "gemini", program: ".bin/gemini"},
	{recipe: "qwen-code", command: "qwen", program: ".bin/qwen"},
	{recipe: "cline", command: "cline", program: "@cline/cli-linux-ARCH/bin/cline"},
	{recipe: "continue", command: "cn", program: ".bin/cn"},
}

// TestRecipesToTheLetter follows the recipe of each tool that npm installs.
func TestRecipesToTheLetter(t *testing.T) {
	t.Parallel()
	g := harness.SharedDemo(t)
	bin := toolPrograms(t)
	for _, tool := range recipeTools {
		for _, model := range recipeModels(t, g, tool) {
			t.Run(tool.recipe+" "+model, func(t *testing.T) {
				t.Parallel()
				c := g.NewCustomer(t, "recipe")
				p := harness.NewConsoleClient(t, g)
				p.SignIn(t, c.Email, c.Password)
				page := p.Visit(t, "/console/recipes/"+tool.recipe+"/key", url.Values{"model": {model}})
				if page.Status != http.StatusOK {
					t.Fatalf("the recipe: %d", page.Status)
				}
				said := tool.follow(t, bin, page.Body)
				if !strings.Contains(said, "Say hello in one short sentence.") || !strings.Contains(said, "simulated model") {
					t.Errorf("it answered %q", said)
				}
				recipeCalls(t, c, model)
			})
		}
	}
}

// toolPrograms makes a folder with the commands of all tools.
func toolPrograms(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	triple := "x86_64-unknown-linux-musl"
	if arch == "" {
		arch, triple = runtime.GOARCH, "aarch64-unknown-linux-musl"
	}
	link := func(program, command string) {
		if _, err := os.Stat(program); err != nil {
			t.Fatalf("%v; %s", err, toolsInstall)
		}
		if err := os.Symlink(program, filepath.Join(bin, command)); err != nil {
			t.Fatal(err)
		}
	}
	node, err := exec.LookPath(harness.NodeProgram(t))
	if err != nil {
		t.Fatal(err)
	}
	link(node, "node")
	for _, tool := range recipeTools {
		inside := strings.NewReplacer("ARCH", arch, "TRIPLE", triple).Replace(tool.program)
		program, err := filepath.Abs(filepath.Join("..", "agents", "node_modules", inside))
		if err != nil {
			t.Fatal(err)
		}
		link(program, tool.command)
	}
	return bin
}

// recipeModels are the models that the recipe is followed with.
func recipeModels(t *testing.T, g *harness.Gateway, tool recipeTool) (all []string) {
	t.Helper()
	p := harness.NewConsoleClient(t, g)
	p.SignIn(t, g.Email, g.Password)
	page := p.Visit(t, "/console/recipes/"+tool.recipe, nil)
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(page.Body))
	if err != nil {
		t.Fatal(err)
	}
	doc.Find("#recipe-model option").Each(func(_ int, o *goquery.Selection) {
		_, chosen := o.Attr("selected")
		if id, _ := o.Attr("value"); tool.models || chosen {
			all = append(all, id)
		}
	})
	if len(all) == 0 {
		t.Fatalf("the recipe of %s chooses no model", tool.recipe)
	}
	return all
}

// follow does what the page says, in a home of its own, and returns what the tool printed.
func (tool recipeTool) follow(t *testing.T, bin, page string) string {
	t.Helper()
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	project := filepath.Join(home, "project")
	if out, err := exec.Command("git", "init", "-q", project).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	var script strings.Builder
	doc.Find(`.code[id^="recipe-"]`).Each(func(_ int, block *goquery.Selection) {
		title, text := strings.TrimSpace(block.Find(".code-title").Text()), block.Find("pre code").Text()
		switch {
		case title == "Shell":
			script.WriteString(text + "\n")
		case strings.HasPrefix(title, "~/"):
			file := filepath.Join(home, title[len("~/"):])
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	if !strings.Contains(script.String(), tool.command+" ") {
		t.Fatalf("the recipe runs nothing: %q", script.String())
	}
	ctx, cancel := context.WithTimeout(t.Context(), toolTimeMax)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euc", script.String())
	cmd.Dir, cmd.WaitDelay = project, time.Second
	// Whatever is called elsewhere than on loopback meets a proxy that is not there.
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + bin + ":/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
		"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1"}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%.2000s\n%.2000s", err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

// recipeCalls holds the calls that the gateway logged and recorded against what the recipe promised.
func recipeCalls(t *testing.T, c harness.Customer, model string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.Dir, "data", "gateway.log"))
	if err != nil {
		t.Fatal(err)
	}
	answered := 0
	for line := range strings.Lines(string(text)) {
		var call struct {
			Msg       string `json:"msg"`
			AccountID string `json:"account_id"`
			Style     string `json:"style"`
			Status    int    `json:"status"`
		}
		if json.Unmarshal([]byte(line), &call) != nil || call.Msg != "request" || call.AccountID != c.AccountID {
			continue
		}
		if call.Status >= http.StatusBadRequest {
			t.Errorf("a call was refused: %.600s", line)
		} else if call.Style != "" {
			answered++
		}
	}
	var recorded, right int
	for deadline := time.Now().Add(harness.CallTimeMax); ; time.Sleep(20 * time.Millisecond) {
		if err := c.DB(t).QueryRow(`select count(*), count(*) filter (where model = $2 and cost_nanos > 0)
			from usage_records where account_id = $1`, c.AccountID, model).Scan(&recorded, &right); err != nil {
			t.Fatal(err)
		}
		if recorded >= answered && recorded > 0 || time.Now().After(deadline) {
			break
		}
	}
	if answered == 0 || recorded < answered || right != recorded {
		t.Errorf("%d calls were answered, %d recorded, %d of them for %s with a cost", answered, recorded, right, model)
	}
}
