package harness

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// PaymentService is the payment service that a demo brings along, as its ready file says.
type PaymentService struct {
	URL    string `json:"payments_url"`
	Key    string `json:"payments_key"`
	Secret string `json:"payments_secret"`
}

// Payments is the payment service that the demo started.
func (g *Gateway) Payments(t *testing.T) PaymentService {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.Dir, "ready.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s PaymentService
	if err := json.Unmarshal(text, &s); err != nil || s.URL == "" || s.Key == "" || s.Secret == "" {
		t.Fatalf("the ready file has no payment service: %s, %v", text, err)
	}
	return s
}

// Env is what a gateway needs to sell credit by this service.
func (s PaymentService) Env() []string {
	return []string{"UMG_STRIPE_KEY=" + s.Key, "UMG_STRIPE_WEBHOOK_SECRET=" + s.Secret, "UMG_STRIPE_URL=" + s.URL}
}

// Call calls the service, its control routes as well as its API, and wants no refusal.
func (s PaymentService) Call(t *testing.T, method, path, body string) map[string]any {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), CallTimeMax)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Key)
	resp, err := HTTPClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %d %v: %s", method, path, resp.StatusCode, err, text)
	}
	if len(text) == 0 {
		return nil
	}
	return DecodeObject(t, string(text))
}

// Sign is the signature of an event at a time.
func (s PaymentService) Sign(at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, []byte(s.Secret))
	_, _ = fmt.Fprintf(mac, "%d.", at.Unix())
	_, _ = mac.Write(body)
	return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
}

// TopUp is a purchase as the table has it.
type TopUp struct {
	ID        string `db:"id"`
	SessionID string `db:"session_id"`
	State     string `db:"state"`
	Cents     int64  `db:"cents"`
	Credited  int64  `db:"credited_cents"`
}

// TopUpColumns are the columns of a TopUp.
const TopUpColumns = `id, coalesce(session_id, '') as session_id, state, cents, credited_cents`

// StartTopUp buys credit as far as the payment page.
func (c Customer) StartTopUp(t *testing.T, p *ConsoleClient, dollars string) TopUp {
	t.Helper()
	a := p.Visit(t, "/console/billing/topups", url.Values{"amount": {"own"}, "own": {dollars}})
	if a.Status != http.StatusOK || !strings.Contains(a.Header.Get("Refresh"), "/pay/cs_test_") {
		t.Fatalf("no payment page: %d %s", a.Status, a.Body)
	}
	var row TopUp
	err := c.DB(t).Get(&row,
		`select `+TopUpColumns+` from topups where account_id = $1 order by created_at desc, id desc limit 1`, c.AccountID)
	if err != nil {
		t.Fatal(err)
	}
	return row
}
