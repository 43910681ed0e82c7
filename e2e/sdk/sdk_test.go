package sdk

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"umg/e2e/harness"
)

const (
	// sdkTimeMax bounds one program with all its cases.
	sdkTimeMax = 150 * time.Second
	// sdkCasesMin is how many cases the shortest program has at least.
	sdkCasesMin = 80
)

// sdkUpstreams are the default catalog's providers, one for each style that upstreams speak.
var sdkUpstreams = map[string]string{"chat": "meridian", "messages": "quillon", "responses": "tessera", "native": "boreal"}

// sdkElsewhere is another upstream style for each style of clients, so that failures are translated, too.
var sdkElsewhere = map[string]string{"chat": "native", "messages": "chat", "responses": "messages", "native": "responses"}

// sdkConfig is the configuration of a program: the gateway's address and the models for each case.
type sdkConfig struct {
	Origin string            `json:"origin"`
	Key    string            `json:"key"`
	Models map[string]string `json:"models"`
	Down   map[string]string `json:"down"`
	Cut    map[string]string `json:"cut"`
	Slow   string            `json:"slow"`
	// Leave is the prompt of the stream that the program leaves.
	Leave string `json:"leave"`
}

// sdkClient is a program that calls with one official client, in one style.
type sdkClient struct {
	name  string
	style string
	// leave is a prompt of this program alone, by which the test finds the upstream's request.
	leave string
	args  []string
}

// The programs of the Go clients are built once, and the models are added once.
var (
	sdkBuildOnce  sync.Once
	sdkBuildOut   []byte
	errSDKBuild   error
	sdkModelsOnce sync.Once
)

// sdkProgram builds the programs and returns the path of one.
func sdkProgram(t *testing.T, name string) string {
	t.Helper()
	folder := filepath.Join(harness.TempDir(t), "sdk") + string(filepath.Separator)
	sdkBuildOnce.Do(func() {
		cmd := exec.Command("go", "build", "-o", folder, "./openai", "./webhooks", "./anthropic1", "./anthropic2", "./genai", "./lists")
		cmd.Dir = "go"
		sdkBuildOut, errSDKBuild = cmd.CombinedOutput()
	})
	if errSDKBuild != nil {
		t.Fatalf("building the clients: %v\n%s", errSDKBuild, sdkBuildOut)
	}
	return filepath.Join(folder, name)
}

// TestSDKGo runs every case with each official Go client, against upstreams of every style.
func TestSDKGo(t *testing.T) {
	t.Parallel()
	runSDKs(t, []sdkClient{
		{"openai-go-chat", "chat", "count to 1001", []string{sdkProgram(t, "openai"), "chat"}},
		{"openai-go-responses", "responses", "count to 1002", []string{sdkProgram(t, "openai"), "responses"}},
		{"anthropic-go-1", "messages", "count to 1003", []string{sdkProgram(t, "anthropic1")}},
		{"anthropic-go-2", "messages", "count to 1004", []string{sdkProgram(t, "anthropic2")}},
		{"genai-go", "native", "count to 1005", []string{sdkProgram(t, "genai")}},
	})
}

// runSDKs gives each client a customer of its own and runs its program.
func runSDKs(t *testing.T, clients []sdkClient) {
	t.Helper()
	g := harness.SharedDemo(t)
	sdkModelsOnce.Do(func() { addSDKModels(t, g) })
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			customer := g.NewCustomer(t, c.name)
			runSDK(t, customer, c)
			sawTheClientLeave(t, customer, c)
		})
	}
	// The ledger is checked after all programs have ended.
	t.Cleanup(func() { g.CheckLedger(t) })
}

// runSDK runs the program and reports the cases that failed.
func runSDK(t *testing.T, c harness.Customer, client sdkClient) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), sdkTimeMax)
	defer cancel()
	config, err := json.Marshal(client.config(c.Gateway))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, client.args[0], slices.Concat(client.args[1:], []string{string(config)})...)
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
	if exit != nil && failed == 0 || cases < sdkCasesMin {
		t.Errorf("%d cases, then: %v\n%s", cases, exit, stderr.String())
	}
}

func (s sdkClient) config(g *harness.Gateway) sdkConfig {
	c := sdkConfig{
		Origin: strings.TrimSuffix(g.BaseURL, "/v1"), Key: g.APIKey, Slow: "sdk/slow-" + sdkElsewhere[s.style], Leave: s.leave,
		Models: map[string]string{}, Down: map[string]string{}, Cut: map[string]string{},
	}
	for style := range sdkUpstreams {
		c.Models[style] = "sdk/" + style
	}
	for _, style := range []string{s.style, sdkElsewhere[s.style]} {
		c.Down[style], c.Cut[style] = "sdk/down-"+style, "sdk/cut-"+style
	}
	return c
}

// addSDKModels adds models that may be called in every style: for each style of upstream a good one, one that is down, one
// that breaks off and a slow one.
func addSDKModels(t *testing.T, g *harness.Gateway) {
	t.Helper()
	// The demo's upstream is slow by default, so that people can watch a stream.
	const atOnce = "+slow-first=1us+pace=1us"
	var added []harness.Model
	for style, provider := range sdkUpstreams {
		for id, does := range map[string]string{
			style: atOnce, "down-" + style: "+status=500", "cut-" + style: "+error-after=6" + atOnce, "slow-" + style: "+pace=30ms",
		} {
			added = append(added, harness.Model{ID: "sdk/" + id, UpstreamModel: "sdk-large" + does, Provider: provider, Style: style, Extra: harness.EveryStyle})
		}
	}
	g.AddModels(t, added...)
}

// sawTheClientLeave looks at how the upstream saw the stream end that its client left, and at what the gateway recorded of
// it.
func sawTheClientLeave(t *testing.T, c harness.Customer, client sdkClient) {
	t.Helper()
	c.WaitFor(t, "the upstream's request to end when the client had left", func() bool {
		var list struct {
			Requests []struct {
				Body string `json:"body"`
				Left bool   `json:"client_left"`
			} `json:"requests"`
		}
		if err := json.Unmarshal([]byte(c.CallSimulator(t, "GET", "/_control/requests", "")), &list); err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Requests {
			if strings.Contains(r.Body, `"`+client.leave+`"`) {
				return r.Left
			}
		}
		return false
	})
	db := c.DB(t)
	var left harness.UsageRecord
	c.WaitFor(t, "a usage record of the stream that was left", func() bool {
		return db.Get(&left, `select cost_nanos, reserved_nanos, outcome, estimated, coalesce(meters[1], 0) as input_tokens,
			coalesce(meters[4], 0) as output_tokens from usage_records where account_id = $1 and model like 'sdk/slow-%'`, c.AccountID) == nil
	})
	if left.Outcome != "client_left" || !left.Estimated || left.Cost == 0 || left.Output == 0 || left.Output > 200 {
		t.Errorf("the record of the stream that was left is %+v", left)
	}
}
