package home_test

import (
	"strings"
	"testing"

	"umg/app"
	"umg/views/codesample"
	"umg/views/home"
)

// TestEachReasonOfAWrongKeyHasAFix reads the fix of each reason, which has a text of its own and a link with a label, or none of both.
func TestEachReasonOfAWrongKeyHasAFix(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, reason := range []string{
		app.ReasonKeyMissing, app.ReasonKeyHeader, app.ReasonKeyForeign, app.ReasonKeyCut, app.ReasonKeyLong, app.ReasonKeyMistyped,
		app.ReasonKeyUnknown,
	} {
		f := home.Arrival{Code: "invalid_api_key", Reason: reason}.Fix()
		if f.Cause == "" || f.Text == "" || (f.Link == "") != (f.Label == "") || f.Link != "" && !strings.HasPrefix(f.Link, "/console/") {
			t.Errorf("%s: %+v", reason, f)
		}
		if other, is := seen[f.Text]; is {
			t.Errorf("%s and %s have the same fix", reason, other)
		}
		seen[f.Text] = reason
	}
	if f := (home.Arrival{Reason: app.ReasonKeyMissing}).Fix(); !strings.Contains(f.Text, codesample.KeyVariable) {
		t.Errorf("the variable is not named: %s", f.Text)
	}
}
