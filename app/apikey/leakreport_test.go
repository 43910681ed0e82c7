package apikey

import (
	"strings"
	"testing"
	"time"

	"umg/app"
)

// leaked reports one secret, and says whether its key is off afterwards.
func (b bundle) leaked(t *testing.T, l LeakReport, signed bool) (ours, off bool) {
	t.Helper()
	found, err := b.keys.ReportLeaks(t.Context(), []LeakReport{l}, app.Origin{IP: "192.0.2.77"}, signed)
	must(t, err)
	return found[0], count(t, b.db, `select count(*) from api_keys where disabled_at is not null`) == 1
}

// TestASecretThatHasEndedSwitchesNoKeyOff reports an ended secret, because old commits are found weeks later.
func TestASecretThatHasEndedSwitchesNoKeyOff(t *testing.T) {
	t.Parallel()
	b, _, u := proving(t, "ada@example.com")
	k, old := b.key(t, u.Principal(), Spec{})
	_, fresh, err := b.keys.Rotate(t.Context(), u.Principal(), k.ID, time.Hour)
	must(t, err)
	b.clock.Advance(time.Hour)
	if ours, off := b.leaked(t, LeakReport{Secret: old}, true); ours || off {
		t.Errorf("an ended secret: %v, %v", ours, off)
	}
	if ours, off := b.leaked(t, LeakReport{Secret: fresh}, false); !ours || !off {
		t.Errorf("the secret in force: %v, %v", ours, off)
	}
}

func TestASecretThatIsStillGoodBesideANewerOneSwitchesTheKeyOff(t *testing.T) {
	t.Parallel()
	b, _, u := proving(t, "ada@example.com")
	k, old := b.key(t, u.Principal(), Spec{})
	_, _, err := b.keys.Rotate(t.Context(), u.Principal(), k.ID, time.Hour)
	must(t, err)
	if ours, off := b.leaked(t, LeakReport{Secret: old}, false); !ours || !off {
		t.Errorf("%v, %v", ours, off)
	}
	wantError(t, b.keys.Disable(t.Context(), u.Principal(), k.ID, false), app.Conflict, "key_leaked")
}

// TestTheMailAboutALeakSaysNothingThatAnybodyMayWrite checks that only a partner's address reaches people's mailboxes in our name.
func TestTheMailAboutALeakSaysNothingThatAnybodyMayWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		url    string
		signed bool
		told   bool
	}{
		"signed":               {"https://code.example/a?b=c", true, true},
		"not signed":           {"https://evil.example/sign-in", false, false},
		"no address":           {"Your password has expired.\n\nSet a new one at evil.example", true, false},
		"a zero byte":          {"https://code.example/\x00", true, false},
		"not text":             {"https://code.example/\xff", true, true}, // The mail escapes it.
		"another scheme":       {"javascript:evil.example", true, false},
		"blanks in the middle": {"https://evil.example/ set a new password", true, true}, // The mail escapes it.
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, post, u := proving(t, "ada@example.com")
			_, secret := b.key(t, u.Principal(), Spec{})
			if ours, off := b.leaked(t, LeakReport{Secret: secret, URL: c.url}, c.signed); !ours || !off {
				t.Fatalf("%v, %v", ours, off)
			}
			m := mailed(t, post, "key_leaked", u.Email)
			if m.Text == "" || strings.Contains(m.Text, "It was found at") != c.told ||
				!c.told && strings.Contains(m.Text, "evil.example") || strings.Contains(m.Text, " set a new password") {
				t.Errorf("the mail says: %q", m.Text)
			}
		})
	}
}
