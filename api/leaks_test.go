package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"

	"umg/api"
	"umg/app/apikey"
)

const leaksPath = "/webhooks/key_leaks"

// partner is a company that looks for leaked secrets and signs what it reports.
type partner struct {
	t   *testing.T
	key *ecdsa.PrivateKey
}

func newPartner(t *testing.T, curve elliptic.Curve) partner {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	must(t, err)
	return partner{t, key}
}

// document is what the partner publishes.
func (p partner) document(name string) []byte {
	p.t.Helper()
	der, err := x509.MarshalPKIXPublicKey(p.key.Public())
	must(p.t, err)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	out, err := json.Marshal(map[string]any{"public_keys": []any{map[string]any{"key_identifier": name, "key": text, "is_current": true}}})
	must(p.t, err)
	return out
}

func (p partner) headers(name, body string) []string {
	p.t.Helper()
	sum := sha256.Sum256([]byte(body))
	raw, err := ecdsa.SignASN1(rand.Reader, p.key, sum[:])
	must(p.t, err)
	return []string{"Github-Public-Key-Identifier", name, "Github-Public-Key-Signature", base64.StdEncoding.EncodeToString(raw)}
}

func reporting(t *testing.T) (*house, partner) {
	t.Helper()
	p := newPartner(t, elliptic.P256())
	keys, err := api.ParseLeakKeys(p.document("one"))
	must(t, err)
	return setup(t, withAccounts, func(o *plan) { o.api.LeakKeys = keys }), p
}

func leakOf(secrets ...string) string {
	list := make([]map[string]string, len(secrets))
	for i, s := range secrets {
		list[i] = map[string]string{"token": s, "type": "umg_key", "url": "https://code.example/a", "source": "content"}
	}
	body, _ := json.Marshal(list)
	return string(body)
}

type verdict struct {
	Hash  string `json:"token_hash"`
	Type  string `json:"token_type"`
	Label string
}

// off reports whether a key is switched off.
func (h *house) off(k apikey.Key) bool {
	h.t.Helper()
	now, err := h.apiKeys.Get(h.t.Context(), h.owner.Principal(), k.ID)
	must(h.t, err)
	return now.Disabled && now.Secret.LeakedAt != nil
}

func TestASignedReportSwitchesKeysOffAndAnswersEachSecret(t *testing.T) {
	t.Parallel()
	h, p := reporting(t)
	k, secret := h.key(apikey.Spec{})
	body := leakOf("ghp_foreign", secret)
	got := decode[[]verdict](t, h.call("POST", leaksPath, body, p.headers("one", body)...), 200)
	sum := sha256.Sum256([]byte(secret))
	if len(got) != 2 || got[0].Label != "false_positive" || got[1] != (verdict{hex.EncodeToString(sum[:]), "umg_key", "true_positive"}) || !h.off(k) {
		t.Errorf("%+v, off: %v", got, h.off(k))
	}
}

func TestAWrongSignatureDoesNothing(t *testing.T) {
	t.Parallel()
	h, p := reporting(t)
	k, secret := h.key(apikey.Spec{})
	body := leakOf(secret)
	good := p.headers("one", body)
	for what, headers := range map[string][]string{
		"another's":         newPartner(t, elliptic.P256()).headers("one", body),
		"of another body":   p.headers("one", body+" "),
		"an unknown name":   p.headers("two", body),
		"no name":           good[2:],
		"no signature":      good[:2],
		"no base64":         {good[0], good[1], good[2], "!" + good[3]},
		"empty":             {good[0], good[1], good[2], ""},
		"cut":               {good[0], good[1], good[2], base64.StdEncoding.EncodeToString([]byte("0"))},
		"a name of nothing": {good[0], "", good[2], good[3]},
	} {
		// A blank value makes the client send an empty header instead of leaving it out.
		if what == "empty" || what == "a name of nothing" {
			for i := 1; i < len(headers); i += 2 {
				if headers[i] == "" {
					headers[i] = " "
				}
			}
		}
		r := h.call("POST", leaksPath, body, headers...)
		if r.status != 401 || r.header.Get("X-Error-Code") != "invalid_signature" || h.off(k) {
			t.Errorf("%s: %d %s, off: %v", what, r.status, r.body, h.off(k))
		}
	}
	altered := strings.Replace(body, "content", "comment", 1)
	if r := h.call("POST", leaksPath, altered, good...); r.status != 401 || h.off(k) {
		t.Errorf("an altered body: %d %s", r.status, r.body)
	}
	if r := h.call("POST", leaksPath, body, good...); r.status != 200 || !h.off(k) {
		t.Errorf("the right one: %d %s", r.status, r.body)
	}
}

func TestAHolderOfASecretMayReportItWithoutASignature(t *testing.T) {
	t.Parallel()
	h, _ := reporting(t)
	k, secret := h.key(apikey.Spec{})
	if got := decode[[]verdict](t, h.call("POST", leaksPath, leakOf(secret)), 200); got[0].Label != "true_positive" || !h.off(k) {
		t.Errorf("%+v", got)
	}
	for range 3 { // Sixty more secrets exhaust the limit.
		if r := h.call("POST", leaksPath, leakOf(make([]string, 20)...)); r.status != 200 {
			t.Errorf("%d %s", r.status, r.body)
		}
	}
	r := h.call("POST", leaksPath, leakOf(secret))
	if r.status != 429 || r.header.Get("X-Error-Code") != "too_many_attempts" || r.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", r.status, r.body)
	}
}

func TestReportsHaveLimits(t *testing.T) {
	t.Parallel()
	h, p := reporting(t)
	signed := func(body string) reply { return h.call("POST", leaksPath, body, p.headers("one", body)...) }
	for what, c := range map[string]struct {
		r    reply
		want int
	}{
		"20 unsigned":     {h.call("POST", leaksPath, leakOf(make([]string, 20)...)), 200},
		"21 unsigned":     {h.call("POST", leaksPath, leakOf(make([]string, 21)...)), 400},
		"100 signed":      {signed(leakOf(make([]string, 100)...)), 200},
		"101 signed":      {signed(leakOf(make([]string, 101)...)), 400},
		"none":            {signed("[]"), 200},
		"an object":       {signed("{}"), 400},
		"no JSON":         {signed("secret"), 400},
		"a number":        {signed(`[{"token":1}]`), 400},
		"too large":       {signed("[" + strings.Repeat(" ", 256<<10) + "]"), 413},
		"a read":          {h.call("GET", leaksPath, ""), 405},
		"a long web page": {signed(`[{"token":"x","url":"https://code.example/` + strings.Repeat("a", 9000) + `"}]`), 200},
	} {
		if c.r.status != c.want {
			t.Errorf("%s: %d %.200s", what, c.r.status, c.r.body)
		}
	}
	if r := signed("[]"); r.body != "[]" {
		t.Errorf("no secrets: %s", r.body)
	}
}

func TestOnlyKeysOfTheCurveOfReportsAreRead(t *testing.T) {
	t.Parallel()
	good := newPartner(t, elliptic.P256())
	if keys, err := api.ParseLeakKeys(good.document("one")); err != nil || keys["one"] == nil || !keys["one"].Equal(good.key.Public()) {
		t.Errorf("%v, %v", keys, err)
	}
	for what, document := range map[string][]byte{
		"another curve": newPartner(t, elliptic.P384()).document("one"),
		"no name":       good.document(""),
		"no keys":       []byte(`{"public_keys":[]}`),
		"no JSON":       []byte(`-----BEGIN PUBLIC KEY-----`),
		"no PEM":        []byte(`{"public_keys":[{"key_identifier":"one","key":"abc"}]}`),
		"no key":        []byte(`{"public_keys":[{"key_identifier":"one","key":"-----BEGIN PUBLIC KEY-----\nYWJj\n-----END PUBLIC KEY-----\n"}]}`),
	} {
		if keys, err := api.ParseLeakKeys(document); err == nil {
			t.Errorf("%s: %v", what, keys)
		}
	}
}
