package sdk

import (
	"crypto/rand"
	"fmt"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"github.com/pquerna/otp/totp"

	"umg/app/simulator/emulator"
	"umg/e2e/harness"
)

const (
	// firstStartTimeMax is how long a new operator may wait between the start of the server and the first answers.
	firstStartTimeMax = time.Minute
	firstModel        = "anthropic/claude-haiku-4-5"
	bedrockModel      = "global.anthropic.claude-haiku-4-5-20251001-v1:0"
	// firstAnswer is what emulated providers answer.
	firstAnswer   = "Olá! Como posso ajudar você hoje? ✓"
	firstEmail    = "first@example.com"
	firstPassword = "a few words in a row"
	// callsOfAllClients is how often sayHello calls: each client once whole and once as a stream.
	callsOfAllClients = 8
)

// newEmulator serves emulated providers until the test ends.
func newEmulator(t *testing.T) (*emulator.Emulator, string) {
	t.Helper()
	e := emulator.New(emulator.Options{Now: time.Now, Random: rand.Reader})
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	return e, s.URL
}

// sayHello calls the model with every official JavaScript client, and expects the answer of the emulated providers from each.
func sayHello(t *testing.T, g *harness.Gateway, key, model string) {
	t.Helper()
	harness.RequireNodeClients(t)
	cmd := exec.CommandContext(t.Context(), harness.NodeProgram(t), "hello.mjs", strings.TrimSuffix(g.BaseURL, "/v1"), key, model)
	cmd.Dir = filepath.Join("..", "node")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, stderr.String())
	}
	answers := harness.DecodeJSON[map[string]struct {
		Text, Streamed string
		Input, Output  int64
	}](t, string(out))
	if len(answers) != 4 {
		t.Errorf("%d clients answered: %s", len(answers), out)
	}
	for client, a := range answers {
		if a.Text != firstAnswer || a.Streamed != firstAnswer || a.Input == 0 || a.Output == 0 {
			t.Errorf("%s got %+v", client, a)
		}
	}
}

// firstOperator is a browser in which a new operator works, with the clicks that it took.
type firstOperator struct {
	*harness.Tab
	server harness.Replica
	clicks int
}

func (p *firstOperator) press(name string)  { p.clicks++; p.PressButton(name) }
func (p *firstOperator) follow(name string) { p.clicks++; p.FollowLink(name) }

var setupCode = regexp.MustCompile(`"code":"([A-Z2-7-]+)"`)

// claim makes the first operator on the set-up page, with the code from the log, and goes on without a key.
func (p *firstOperator) claim() {
	p.T.Helper()
	found := setupCode.FindStringSubmatch(p.server.Log.String())
	if found == nil {
		p.T.Fatalf("the log has no code:\n%s", p.server.Log)
	}
	p.Open(p.server.ConsoleURL + "/console/setup")
	p.CheckAccessibility()
	p.Fill("One-time code", found[1])
	p.Fill("E-mail", firstEmail)
	p.Fill("Password", firstPassword)
	p.press("Create the operator's account")
	p.RequireText("No key was found")
	p.CheckAccessibility()
	p.follow("Go on without a provider")
	p.RequireText("There is no model yet")
	p.press("Open the console")
	p.enrol()
}

// enrol sets up sign-in codes, which the pages for operators need.
func (p *firstOperator) enrol() {
	p.T.Helper()
	p.Must(p.Locator("#current-password").First().Fill(firstPassword))
	p.press("Set up sign-in codes")
	secret, err := p.Locator("#totp-secret").TextContent()
	p.Must(err)
	code, err := totp.GenerateCode(strings.ReplaceAll(strings.TrimSpace(secret), " ", ""), time.Now())
	p.Must(err)
	p.Must(p.Locator("#code").Fill(code))
	p.Must(p.Keyboard().Press("Enter"))
	p.RequireText("This is the only time these codes are shown")
	p.follow("I stored them")
}

// addProvider adds the provider of a preset, tests it, and publishes the model with a markup.
func (p *firstOperator) addProvider(preset, name, address string, fields map[string]string) {
	p.T.Helper()
	p.Open(p.server.ConsoleURL + "/console/operator/providers")
	p.follow("Add a provider")
	p.follow(name)
	for label, value := range fields {
		p.Fill(label, value)
	}
	p.clicks++
	p.Must(p.Locator("summary", playwright.PageLocatorOptions{HasText: "Advanced"}).Click())
	p.Must(p.Locator("#provider-address").Fill(address))
	p.press("Save and continue")
	p.press("Start the test")
	p.RequireText(name + " works")
	p.CheckAccessibility()
	p.SaveScreenshot("test-" + preset)
	p.clicks++
	p.Must(p.GetByRole("link", playwright.PageGetByRoleOptions{Name: "Choose models", Exact: new(true)}).Last().Click())
	p.clicks++
	p.Must(p.Locator(`[data-testid=choice][data-model="` + firstModel + `"] input[type=checkbox]`).Check())
	p.SaveScreenshot("models-" + preset)
	p.press("Review and publish")
	p.Fill("Your current password", firstPassword)
	p.CheckAccessibility()
	p.SaveScreenshot("publish-" + preset)
	p.press("Publish")
	p.RequireText("Published 1 model of " + name)
}

var keyPattern = regexp.MustCompile(`sk-umg-[0-9A-Za-z]{38}`)

// TestFirstStartByForms takes an empty server into operation as a new operator does: the set-up page, Anthropic and Bedrock by their
// forms, a Claude model with a markup, all official clients and a coding tool, a failing provider, and the pages about money.
func TestFirstStartByForms(t *testing.T) {
	t.Parallel()
	providers, address := newEmulator(t)
	began := time.Now()
	server := harness.StartServe(t, nil)
	p := &firstOperator{Tab: harness.NewTab(t, playwright.BrowserNewContextOptions{Viewport: &playwright.Size{Width: 1440, Height: 900}}), server: server}
	p.claim()
	p.addProvider("anthropic", "Anthropic", address+"/anthropic/v1", map[string]string{"API key": emulator.Key("anthropic")})
	p.Open(server.ConsoleURL + "/console/recipes/claude-code?model=" + firstModel)
	p.press("Make a key for it")
	p.RequireText("sk-umg-")
	recipe, err := p.Content()
	p.Must(err)
	key := keyPattern.FindString(recipe)
	sayHello(t, server.Gateway, key, firstModel)
	took := time.Since(began)
	t.Logf("form: %d clicks, first answers of all clients after %s", p.clicks, took.Round(time.Millisecond))
	if took > firstStartTimeMax {
		t.Errorf("the first answers took %s", took)
	}
	p.addProvider("bedrock", "Amazon Bedrock", address+"/bedrock", map[string]string{
		"Region": emulator.Region, "Access key id": emulator.AccessKeyID, "Secret access key": emulator.SecretAccessKey,
	})

	if said := recipeTools[0].follow(t, toolPrograms(t), recipe); !strings.Contains(said, "Olá!") {
		t.Errorf("the coding tool answered %q", said)
	}
	if n := len(providers.Records(bedrockModel)); n != 0 {
		t.Errorf("Bedrock got %d calls while Anthropic answered", n)
	}
	providers.Add(emulator.Rule{Provider: "anthropic", Fault: "overloaded"})
	sayHello(t, server.Gateway, key, firstModel)
	awaitRecords(t, server, "bedrock", callsOfAllClients)
	awaitRecords(t, server, "anthropic", callsOfAllClients+1)
	firstBill(t, server)
	p.Open(server.ConsoleURL + "/console/operator/margin")
	for _, row := range []string{firstModel, "anthropic", "bedrock"} {
		p.requireRow(row)
	}
	p.CheckAccessibility()
	p.SaveScreenshot("margin")
	p.Open(server.ConsoleURL + "/console/usage")
	p.requireRow(firstModel)
	p.SaveScreenshot("usage")
}

// requireRow waits until a table of the page has a row that begins with the text.
func (p *firstOperator) requireRow(text string) {
	p.T.Helper()
	row := p.Locator("main tbody th", playwright.PageLocatorOptions{HasText: text}).First()
	p.Must(p.Expect.Locator(row).ToBeVisible())
}

// awaitRecords waits until so many calls that a provider has answered are recorded.
func awaitRecords(t *testing.T, server harness.Replica, provider string, calls int) {
	t.Helper()
	db := server.DB(t)
	harness.WaitUntil(t, fmt.Sprintf("%s has served %d calls", provider, calls), func() bool {
		var n int
		if err := db.Get(&n, `select count(*) from usage_records where provider = $1`, provider); err != nil {
			t.Fatal(err)
		}
		return n >= calls
	})
}

// firstBill holds the charge of every record against its cost: the markup is 10 percent of prices that are whole nano-dollars.
func firstBill(t *testing.T, server harness.Replica) {
	t.Helper()
	var records []struct {
		RequestID string `db:"request_id"`
		Provider  string `db:"provider"`
		Charge    int64  `db:"cost_nanos"`
		Cost      *int64 `db:"upstream_cost_nanos"`
	}
	if err := server.DB(t).Select(&records, `select request_id, provider, cost_nanos, upstream_cost_nanos from usage_records`); err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if r.Cost == nil || *r.Cost == 0 || r.Charge*10 != *r.Cost*11 {
			t.Errorf("call %s by %s is charged %d for a cost of %v", r.RequestID, r.Provider, r.Charge, r.Cost)
		}
	}
}

// TestFirstStartFromTheEnvironment starts a server with a key in its environment: all clients get answers, whose cost is recorded and not
// charged.
func TestFirstStartFromTheEnvironment(t *testing.T) {
	t.Parallel()
	_, address := newEmulator(t)
	began := time.Now()
	server := harness.StartServe(t, []string{"ANTHROPIC_API_KEY=" + emulator.Key("anthropic")},
		"--quick", "--provider-address", "anthropic="+address+"/anthropic/v1")
	quick := harness.DecodeJSON[struct {
		APIKey string `json:"api_key"`
	}](t, server.ReadFile(t, "data/quick.json"))
	sayHello(t, server.Gateway, quick.APIKey, firstModel)
	sayHello(t, server.Gateway, quick.APIKey, "claude-haiku-4-5")
	took := time.Since(began)
	t.Logf("environment: no click, first answers of all clients after %s", took.Round(time.Millisecond))
	if took > firstStartTimeMax {
		t.Errorf("the first answers took %s", took)
	}
	awaitRecords(t, server, "anthropic", 2*callsOfAllClients)
	var charged, costless int
	err := server.DB(t).QueryRow(`select count(*) filter (where cost_nanos <> 0), count(*) filter (where upstream_cost_nanos is not distinct from null
		or upstream_cost_nanos = 0) from usage_records`).Scan(&charged, &costless)
	if err != nil || charged != 0 || costless != 0 {
		t.Errorf("%d calls are charged, %d have no cost: %v", charged, costless, err)
	}
}

// TestFirstStartByCommand adds a provider to a running server with one command.
func TestFirstStartByCommand(t *testing.T) {
	t.Parallel()
	_, address := newEmulator(t)
	began := time.Now()
	key := []string{"ANTHROPIC_API_KEY=" + emulator.Key("anthropic")}
	server := harness.StartServe(t, key)
	out, status := harness.RunCommand(t, key, "provider", "add", "anthropic", "--data", filepath.Join(server.Dir, "data"), "--yes",
		"--key-env", "ANTHROPIC_API_KEY", "--base-url", address+"/anthropic/v1", "--models", "all", "--markup", "10%")
	if status != 0 {
		t.Fatal(out)
	}
	c := server.NewCustomerWithoutCredit(t, "command")
	c.SetAvailable(t, 1e9)
	sayHello(t, server.Gateway, c.APIKey, firstModel)
	took := time.Since(began)
	t.Logf("command: one command, first answers of all clients after %s\n%s", took.Round(time.Millisecond), out)
	if took > firstStartTimeMax {
		t.Errorf("the first answers took %s", took)
	}
}
