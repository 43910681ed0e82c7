package stripe

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	api "github.com/stripe/stripe-go/v76"
)

const mockInstall = "GOBIN=$PWD/.tools go install github.com/stripe/stripe-mock@v0.203.0"

// mock starts Stripe's own request validator, and returns its address.
func mock(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("stripe-mock")
	if err != nil {
		if program, err = filepath.Abs(filepath.Join("..", "..", ".tools", "stripe-mock")); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), program, "-http-addr", "127.0.0.1:0", "-https-addr", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("no checker of requests: %v; in the root of the tree run: %s", err, mockInstall)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // The process gets its signal when the test ends.
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if address, ok := strings.CutPrefix(lines.Text(), "Listening for HTTP at address: "); ok {
			return "http://" + address
		}
	}
	t.Fatal("the checker of requests does not listen")
	return ""
}

// TestEveryCallHasTheShapeThatThePaymentServiceTakes sends every request to Stripe's validator, which rejects unknown and
// wrong parameters.
func TestEveryCallHasTheShapeThatThePaymentServiceTakes(t *testing.T) {
	t.Parallel()
	c := newClient("sk_test_123", mock(t))
	ctx := t.Context()
	row := topupRow{ID: "top_1", AccountID: "acc_1", Cents: 2500, CustomerID: "cus_1", PaymentMethod: "pm_1"}
	auto := row
	auto.Auto = true
	for name, call := range map[string]func() error{
		"newCustomer": func() error { _, err := c.newCustomer(ctx, "acc_1", "a@example.com", 0); return err },
		"newSession":  func() error { _, err := c.newSession(ctx, row, "https://console.example"); return err },
		"session":     func() error { return shapeOnly(c.session(ctx, "cs_1")) },
		"intent":      func() error { return shapeOnly(c.intent(ctx, "pi_1")) },
		"chargeCard":  func() error { _, err := c.chargeCard(ctx, auto); return err },
		"disputesOf":  func() error { _, err := c.disputesOf(ctx, "pi_1"); return err },
		"giveBack":    func() error { _, err := c.createRefund(ctx, "rfd_1", "pi_1", "top_1", 100); return err },
		"portal":      func() error { _, err := c.portal(ctx, "cus_1", "https://console.example/console/billing"); return err },
		"card":        func() error { _, err := c.card(ctx, "cus_1"); return err },
		"eventsSince": func() error {
			_, _, err := c.eventsSince(ctx, time.Unix(1_700_000_000, 0), time.Unix(1_700_000_060, 0), "evt_1")
			return err
		},
	} {
		if err := call(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	wrong := &api.CustomerParams{}
	wrong.AddExtra("nonsense", "1")
	if _, err := c.customers.New(wrong); err == nil {
		t.Error("the checker takes everything")
	}
}

// shapeOnly ignores that the validator's response is about another object than the requested one.
func shapeOnly(got any, err error) error {
	if got != nil && err != nil && strings.Contains(err.Error(), "answered with") {
		return nil
	}
	return err
}
