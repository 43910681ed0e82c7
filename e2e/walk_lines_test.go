package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// walked says which story goes through what the console promises. Where a test of a page goes the way by keyboard already, it
// stands here instead of a story, as nobody need walk twice. Nothing yet stands for a way that no test goes with both hands.
var walked = []struct{ promise, by string }{
	{"sign up, key, first request, its page, its ledger line", "first request"},
	{"models: search, filter, sort, unit, cards, compare, calculator, open in playground", "models"},
	{"usage: range, group, compare, export", "observe"},
	{"requests: filter, chip, live, detail, neighbours, open in playground", "observe"},
	{"billing: top-up, automatic top-up, ledger, export, what is charged", "billing"},
	{"webhooks: endpoint, test event, rotation, end", "webhooks"},
	{"webhooks: delivery, attempts, resend", "TestConsoleWebhooksFromCreationToDeletion"},
	{"password, sessions and e-mail address", "TestSignInSessionsAddressAndPassword"},
	{"sign-in codes and recovery codes", "TestSignInCodes"},
	{"forgotten password", "TestSignInForgottenPassword"},
	{"keys: create and copy", "TestConsoleKeysByKeyboard"},
	{"video playground", "TestVideoIsMadeWithTheKeyboardAlone"},
	{"videos: gallery, remix, deletion", "TestVideoIsMadeFromACroppedPictureWatchedRemixedAndDeleted"},
	{"assets", "TestAssetIsRegisteredUsedAndDeletedWithTheKeyboardAlone"},
	{"members and invitations", "TestInvitationLeadsIntoTheAccount"},
	{"another account, another role", "TestMembershipCountsWithTheNextRequest"},
	{"operator: pause and resume", "TestOperatorPausesAndResumesAModelByKeyboard"},
	{"playground: styles, cost, edit", "TestPlaygroundKeepsTheMessageWhenTheModelChanges"},
	{"playground: stop", "TestPlaygroundStopKeepsWhatCame"},
	{"palette, shortcuts and theme", ""},
	{"playground: edit, branch, regenerate, styles, inspector, code", "playground"},
	{"playground: several models, one stopped, one refused", "panes"},
	{"playground: tools, structured output, image", "tools"},
	{"prompts: save, version, compare, share, revoke, export, import", "prompts"},
	{"keys: edit, disable, rotate, delete", ""},
	{"settings: notifications, limits, audit, export", ""},
	{"docs, error anchors and recipes", ""},
	{"no permission, sign out", ""},
}

// TestEveryPromiseOfTheConsoleIsWalked finds each story and test that the list names, and says what nobody walks.
func TestEveryPromiseOfTheConsoleIsWalked(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(source)
	}
	for _, w := range walked {
		story := slices.ContainsFunc(walks, func(s walk) bool { return s.name == w.by })
		switch {
		case w.by == "":
			t.Logf("with both hands nobody walks: %s", w.promise)
		case !story && !strings.Contains(text.String(), "func "+w.by+"("):
			t.Errorf("%s is said to be walked by %s, which is not there", w.promise, w.by)
		}
	}
}
