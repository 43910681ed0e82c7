package views_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"umg/views"
	settingpages "umg/views/settings"
)

func TestADeviceIsNamedInWords(t *testing.T) {
	t.Parallel()
	for agent, want := range map[string]string{
		"Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0":                                                                 "Firefox on Linux",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0":              "Edge on Windows",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/605.1.15":                  "Safari on macOS",
		"Mozilla/5.0 (Linux; Android 16; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36":                  "Chrome on Android",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/142.0 Mobile/15E148 Safari/604.1": "Chrome on iPhone",
		"curl/8.15.0":                  "Curl",
		"":                             "Unknown device",
		"<script>alert(1)</script>":    "Unknown device",
		"Something (Windows) of Yours": "A browser on Windows",
	} {
		if got := views.Device(agent); got != want {
			t.Errorf("%q is %q, want %q", agent, got, want)
		}
	}
}

func FuzzDevice(f *testing.F) {
	f.Add("Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0")
	f.Add("\xff<")
	f.Fuzz(func(t *testing.T, agent string) {
		if got := views.Device(agent); got == "" || !utf8.ValidString(got) || strings.ContainsAny(got, "<>&") {
			t.Errorf("%q", got)
		}
	})
}

// TestACodeToScanIsASquareInAQuietZone reads the picture's own corner: three squares that readers look for.
func TestACodeToScanIsASquareInAQuietZone(t *testing.T) {
	t.Parallel()
	q, err := settingpages.QRCode("otpauth://totp/A:b@example.com?secret=JBSWY3DPEHPK3PXP")
	if err != nil {
		t.Fatal(err)
	}
	if (q.Size-8-17)%4 != 0 || !strings.HasPrefix(q.Path, "M4 4h7v1h-7z") {
		t.Errorf("%d %.40s", q.Size, q.Path)
	}
	if _, err := settingpages.QRCode(strings.Repeat("x", 10_000)); err == nil {
		t.Error("more than a code can hold")
	}
}
