package sdk

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// webhookLibraries are how many libraries each verifying program has.
const webhookLibraries = 3

// TestSDKWebhooksAreManaged manages endpoints with the official clients.
func TestSDKWebhooksAreManaged(t *testing.T) {
	t.Parallel()
	node := harness.NodeProgram(t)
	harness.RequireNodeClients(t)
	for name, args := range map[string][]string{
		"openai-go":   {sdkProgram(t, "webhooks"), "manage"},
		"openai-js-7": {node, "webhooks.mjs", "manage"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), name+"-hooks")
			up, down := harness.NewWebhookReceiver(t), harness.NewWebhookReceiver(t)
			down.AnswerWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
			runCases(t, 9, map[string]any{
				"origin": strings.TrimSuffix(c.BaseURL, "/v1"), "key": c.APIKey, "url": up.URL, "down": down.URL,
			}, args...)
			if len(up.Received()) != 1 {
				t.Errorf("one test came as %d requests", len(up.Received()))
			}
		})
	}
}

// delivered is one delivery as the verifying programs take it.
type delivered struct {
	Name    string            `json:"name"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Secret  string            `json:"secret"`
	Refused bool              `json:"refused,omitempty"`
}

// TestSDKWebhooksAreVerified lets the libraries that receivers use check what receivers got: under the only secret,
// under the old and the new one while both hold, and under the new one alone.
func TestSDKWebhooksAreVerified(t *testing.T) {
	t.Parallel()
	node := harness.NodeProgram(t)
	harness.RequireNodeClients(t)
	c, r := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "verified"), harness.NewWebhookReceiver(t)
	h := c.AddWebhook(t, r)
	first := h.Secret
	one := requireEvents(t, c, r, "A boat", "video.completed")
	second := rotates(t, c, h, true)
	two := requireEvents(t, c, r, "guardrail-late: likeness", "video.failed")
	third := rotates(t, c, h, false)
	three := requireEvents(t, c, r, "simulate: fail=broken\nA boat", "video.failed")
	all := []delivered{
		decodedAs(one, "the first secret", first), decodedAs(two, "the old secret while it holds", first), decodedAs(two, "the new secret", second),
		decodedAs(three, "the newest secret", third),
		decodedAs(one, "a secret of later", second).refused(), decodedAs(three, "a dropped secret", second).refused(), decodedAs(three, "the first of three", first).refused(),
		decodedAs(two, "a stranger's secret", "whsec_"+base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 32)))).refused(),
	}
	all = append(all, tampered(decodedAs(two, "", second))...)
	a := c.Call(t, http.MethodPost, "/v1/webhook_endpoints/"+h.ID+"/test", `{"event_type":"video.completed"}`)
	hits := r.Received()
	if a.Status != http.StatusOK || len(hits) != 4 {
		t.Fatalf("%d deliveries with the test, which ended as %d %s", len(hits), a.Status, a.Body)
	}
	all = append(all, decodedAs(hits[3], "a test", third))
	for name, args := range map[string][]string{"go": {sdkProgram(t, "webhooks"), "verify"}, "js": {node, "webhooks.mjs", "verify"}} {
		t.Run(name, func(t *testing.T) { runCases(t, webhookLibraries*len(all), all, args...) })
	}
}

// requireEvents makes a video and returns the only delivery about it.
func requireEvents(t *testing.T, c harness.Customer, r *harness.WebhookReceiver, prompt, eventType string) harness.WebhookRequest {
	t.Helper()
	id := harness.TextMember(c.CreateVideo(t, harness.VideoBody(harness.VideosModel, prompt)), "id")
	hits := r.WaitForEvent(t, eventType, id)
	if len(hits) != 1 {
		t.Fatalf("%s came %d times", eventType, len(hits))
	}
	return hits[0]
}

// rotates gives the endpoint a new secret.
func rotates(t *testing.T, c harness.Customer, h harness.WebhookEndpoint, keep bool) string {
	t.Helper()
	a := c.Call(t, http.MethodPost, "/v1/webhook_endpoints/"+h.ID+"/rotate_secret", `{"keep_old_secret_active_for_24_hours":`+strconv.FormatBool(keep)+`}`)
	secret := harness.TextMember(harness.DecodeObject(t, a.Body), "signing_secret")
	if a.Status != http.StatusOK || secret == "" {
		t.Fatalf("no new secret: %d %s", a.Status, a.Body)
	}
	return secret
}

// decodedAs is the hit for the programs, who shall verify it with the secret.
func decodedAs(h harness.WebhookRequest, name, secret string) delivered {
	d := delivered{Name: name, Headers: map[string]string{}, Body: h.Body, Secret: secret}
	for _, header := range []string{"webhook-id", "webhook-timestamp", "webhook-signature", "content-type"} {
		d.Headers[header] = h.Header.Get(header)
	}
	return d
}

func (d delivered) refused() delivered {
	d.Refused = true
	return d
}

// with is the delivery with another header.
func (d delivered) with(name, header, value string) delivered {
	headers := map[string]string{header: value}
	for other, value := range d.Headers {
		if other != header {
			headers[other] = value
		}
	}
	d.Name, d.Headers = name, headers
	return d
}

// at is the delivery as its sender would have signed it at another time.
func (d delivered) at(name string, when time.Time) delivered {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(d.Secret, "whsec_"))
	if err != nil {
		panic(err)
	}
	stamp := strconv.FormatInt(when.Unix(), 10)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(d.Headers["webhook-id"] + "." + stamp + "." + d.Body))
	return d.with(name, "webhook-timestamp", stamp).
		with(name, "webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// tampered are changes to a good delivery that no library may take, but for the first.
func tampered(good delivered) []delivered {
	body, now := good, time.Now()
	body.Name, body.Body = "another body", strings.Replace(good.Body, "video.failed", "video.completed", 1)
	seconds, err := strconv.ParseInt(good.Headers["webhook-timestamp"], 10, 64)
	if err != nil {
		panic(err)
	}
	return []delivered{
		good.at("signed again", now), body.refused(),
		good.at("old", now.Add(-10*time.Minute)).refused(), good.at("of the future", now.Add(10*time.Minute)).refused(),
		good.with("another time", "webhook-timestamp", strconv.FormatInt(seconds-1, 10)).refused(),
		good.with("another id", "webhook-id", good.Headers["webhook-id"]+"0").refused(),
		good.with("another version", "webhook-signature", strings.ReplaceAll(good.Headers["webhook-signature"], "v1,", "v2,")).refused(),
	}
}
