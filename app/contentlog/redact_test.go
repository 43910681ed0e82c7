package contentlog

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

// long is n characters that look drawn by chance.
func long(n int) string { return strings.Repeat("aB3dE9kQ7", n)[:n] }

// secrets are texts with one secret each, and what must be gone.
var secrets = map[string]string{
	"my key is sk-umg-" + long(40) + ", thanks":       long(40),
	`{"content":"first\nsk-proj-` + long(30) + `"}`:   long(30),
	"export OPENAI_API_KEY=sk" + long(12):             long(12),
	"AWS AKIA" + "IOSFODNN7EXAMPLE":                   "IOSFODNN7EXAMPLE",
	"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG":   "wJalrXUtnFEMI",
	"hook whsec_" + long(32):                          long(32),
	"Authorization: Bearer " + long(24):               long(24),
	`{\"Authorization\": \"Basic dXNlcjpodW50ZXIy\"}`: "dXNlcjpodW50ZXIy",
	`-H 'x-api-key: ` + long(10) + `'`:                long(10),
	"curl with bearer " + long(20):                    long(20),
	"eyJhbGciOiJIUzI1NiJ9." + long(40) + ".sig":       long(40),
	"ghp_" + long(36):                                 long(36),
	"(AIza" + long(35) + ")":                          long(35),
	`"password":"correct horse"`:                      "correct",
	"DB_PASSWORD=hunter2hunter2":                      "hunter2",
	"postgres://me:pa55word@db.example/x":             "pa55word",
	`-----BEGIN RSA PRIVATE KEY-----\nMIIE` + long(60) + `\n-----END RSA PRIVATE KEY-----`: "MIIE",
	"-----BEGIN PRIVATE KEY-----\nMIIE" + long(60):                                         "MIIE", // The text is cut before the end line.
}

func TestWhatHasTheFormOfASecretIsTakenOut(t *testing.T) {
	t.Parallel()
	for text, secret := range secrets {
		got, n := Redact(text)
		if n != 1 || strings.Contains(got, secret) || !strings.Contains(got, "[redacted ") {
			t.Errorf("%d in %q: %q", n, text, got)
		}
		if again, more := Redact(got); more != 0 || again != got {
			t.Errorf("%q is redacted again: %q", got, again)
		}
	}
	if got, _ := Redact("call https://me:pa55word@db.example/x now"); got != "call https://me:[redacted password]@db.example/x now" {
		t.Errorf("more than the password is gone: %q", got)
	}
}

// TestALongSecretIsTakenOutWhole has an end of each secret that no bound may leave in the text.
func TestALongSecretIsTakenOutWhole(t *testing.T) {
	t.Parallel()
	const end = "theEnd7"
	for _, text := range []string{
		"sk-umg-" + strings.Repeat("a1", secretMax) + end, "Authorization: Bearer " + strings.Repeat("a1", secretMax) + end,
		`"password":"` + strings.Repeat("a1", secretMax) + end + `"`,
	} {
		if got, n := Redact(text); n != 1 || strings.Contains(got, end) {
			t.Errorf("%d in a text of %d bytes, of which %d bytes are left", n, len(text), len(got))
		}
	}
}

func TestWordsOfPeopleStay(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"A risk-adjusted-return-on-capital2 of task-force-12345678901234567890", "the bearer of these good news", `{"max_tokens":100,"n":1}`,
		"What is an API key, and what is a password?", `"password":{"type":"string"}`, "sk-learn-compatible-estimators", "see https://example.com/a@b",
		"-----BEGIN CERTIFICATE-----", "basic understanding", "sk-", "password: ", "://", "Bearer",
	} {
		if got, n := Redact(text); n != 0 || got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestFilesAreShortenedAndWordsAreNot(t *testing.T) {
	t.Parallel()
	picture := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\r\n\x1a\n\x00"), make([]byte, 3000)...))
	words := strings.Repeat("plain words, ", 200)
	for text, want := range map[string]string{
		`{"url":"data:image/jpeg;base64,` + picture + `","text":"` + words + `"}`: `{"url":"[image, 3009 bytes]","text":"` + words + `"}`,
		`{"data":"` + picture + `","after":1}`:                                    `{"data":"[image, 3009 bytes]","after":1}`,
		`{"data":"` + long(900) + `"}`:                                            `{"data":"[file, 675 bytes]"}`,
		`{"data":"` + strings.ReplaceAll(long(900), "k", `\/`) + `\\"}`:           "",
		words: words, "": "",
	} {
		got, cut := appendShort(nil, []byte(text), len(text))
		if cut || want != "" && string(got) != want {
			t.Errorf("%.80q became %.120q, %v", text, got, cut)
		}
		if strings.HasPrefix(text, "{") && !json.Valid(got) {
			t.Errorf("%.120q is no JSON", got)
		}
	}
	if got, cut := appendShort([]byte("ab"), []byte(words), 10); string(got) != "ab"+words[:10] || !cut {
		t.Errorf("%q, %v", got, cut)
	}
}

func FuzzRedact(f *testing.F) {
	for text := range secrets {
		f.Add(text)
	}
	f.Add(strings.Repeat("data:image/png;base64,"+long(600)+`\"`, 3))
	f.Fuzz(func(t *testing.T, text string) {
		short, _ := appendShort(nil, []byte(text), 4096)
		if len(short) > 4096 {
			t.Fatalf("%d bytes are kept", len(short))
		}
		got, n := Redact(text)
		if n == 0 && got != text {
			t.Fatalf("%q became %q", text, got)
		}
		body, _ := json.Marshal(text)
		whole, cut := appendShort(nil, body, len(body))
		if redacted, _ := Redact(string(whole)); cut || !json.Valid([]byte(redacted)) {
			t.Fatalf("%q became %q", body, redacted)
		}
	})
}

func BenchmarkRedact(b *testing.B) {
	text := strings.Repeat("Please explain what the password rules of this API say, in plain words. ", 900)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Redact(text)
	}
}

func BenchmarkShorten(b *testing.B) {
	text := []byte(strings.Repeat(long(20)+" and plain words ", 900) + long(3<<20))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = appendShort(make([]byte, 0, BytesMax), text, BytesMax)
	}
}
