package console

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// walked says which story goes through what the console promises. Where a test of its own goes a way by keyboard already, or one
// that is not of hands (pages that come without scripts, ways in which a payment can end), it stands here instead of a story.
var walked = []struct{ promise, by string }{
	// These rows are about the shell.
	{"menu: every page by its link", "palette, shortcuts and theme"},
	{"palette: pages, models, keys, requests, create a key, theme, documentation", "palette, shortcuts and theme"},
	{"shortcuts: the list, jumps, off and on", "palette, shortcuts and theme"},
	{"theme: system, light, dark, kept", "palette, shortcuts and theme"},
	{"drawer of a narrow window, the balance leads to Billing", "palette, shortcuts and theme"},
	{"skip link, order and sight of the focus", "palette, shortcuts and theme"},
	{"status of a model that is away", "operator"},
	{"notices: the bell, its page", "overview"},
	{"forms and pages without scripts", "TestFormsWorkWithoutScripts"},
	{"every page, narrow and wide, light and dark", "TestPagesAreWholeForReadersAndVisitors"},
	{"every page of an empty account", "TestPagesOfAnEmptyAccount"},

	// These rows are about signing up and in.
	{"sign up, trial credit told, address verified, key, first request, its page, its ledger line", "first request"},
	{"trial credit once, by the link", "TestConsoleTrialCreditComesWithTheAddress"},
	{"forgotten password", "security"},
	{"sessions, e-mail address, password", "security"},
	{"sign-in codes", "security"},
	{"recovery codes, codes off", "TestSignInCodes"},

	// These rows are about the overview and the first steps.
	{"first steps: key, code in a style, waiting, answer", "first request"},
	{"overview: failures with their cause, first steps hidden and back", "overview"},
	{"recipes: key, test, the call that arrived", "recipes"},

	// These rows are about models.
	{"models: search, filter, sort, unit, cards, compare, calculator, code, open in playground", "models"},
	{"models: search field by its key, last requests priced, price history, api.md, compared", "model page"},
	{"models and documentation without an account", "visitor"},
	{"models: price, purpose and context found", "TestConsoleModelsAreFoundByPriceAndPurpose"},

	// These rows are about the playground for text.
	{"playground: edit, branch, regenerate, styles, inspector, code", "playground"},
	{"playground: several models, one stopped, one refused, a winner, the others back", "panes"},
	{"playground: tools, structured output, image", "tools"},
	{"playground: refused without credit, cost as told", "TestPlaygroundCostsWhatItSays"},
	{"prompts: save, named in the pane, version, compare, share, revoke, export, import", "prompts"},

	// These rows are about the playground for video, and about videos.
	{"videos: price before, asked above an amount, two at once, watch, code, remix, gallery, filters, bulk deletion", "videos"},
	{"videos: picture cropped to the size, scrubbing", "TestVideoIsMadeFromACroppedPictureWatchedRemixedAndDeleted"},
	{"videos: asked again above an amount", "TestVideoFormKeepsWhatWasTypedAndAsksAboveFiveDollars"},
	{"assets: register, find, delete", "assets"},

	// These rows are about keys.
	{"keys: create with limits, copy, edit, told of the budget, disable, enable, delete by name", "keys"},
	{"keys: rotate with overlap, both at work, end the old", "keys"},
	{"keys: management, own address, file, search, kinds, health", "management key"},

	// These rows are about usage and requests.
	{"usage: range, group, compare, export", "observe"},
	{"usage: views kept under a name", "views"},
	{"usage: filter, zoom from days to minutes and to requests", "zoom"},
	{"requests: filter, chip, live, detail, neighbours, open in playground", "observe"},
	{"requests: found by id, columns, export, why, how to fix, copied as cURL", "request page"},
	{"requests: content kept where the account wants it, shown, deleted", "content"},

	// These rows are about billing.
	{"billing: nothing left is said on every page, and by the API with the way to more", "without credit"},
	{"billing: spend limit, promotion code, low-balance mail, spend by key that adds up", "spending"},
	{"billing: top-up, automatic top-up, ledger, export, what is charged", "billing"},
	{"billing: cards that are declined, leaving, paying later, receipt", "TestConsoleTopUpInEveryWayItCanEnd"},
	{"billing: automatic top-up off after three failures, with mails", "TestConsoleAutomaticTopUp"},
	{"billing: refund and dispute in the ledger", "TestConsoleRefundAndDispute"},

	// These rows are about webhooks.
	{"webhooks: events and their schemas, endpoint, signature in code, test event, rotation, end", "webhooks"},
	{"webhooks: delivery, attempts, resend, enable again, recover", "deliveries"},

	// These rows are about settings.
	{"settings: notices by event and way", "settings"},
	{"settings: limits, request for more, its answer", "operator"},
	{"settings: audit log, filter, export", "settings"},
	{"settings: export of everything, deletion of the account", "settings"},
	{"members: invite, role, remove", "members"},
	{"invitation of a person without an account", "TestInvitationLeadsIntoTheAccount"},
	{"another account, no permission there, sign out", "developer"},

	// These rows are about the documentation.
	{"docs: search kept in the address, read, language kept, as Markdown, run in the playground", "docs"},
	{"docs: from an error of the API to its cause", "docs"},

	// These rows are about operators.
	{"operator: traffic, pause and resume, metrics, versions of models and prices", "operator"},
	{"operator: limits answered, an account found, credit given with a reason", "operator"},
	{"operator: queues, trials, a promotion code made and ended", "operator"},
	{"operator: a provider that fails is seen", "TestOperatorSeesAnUpstreamEjected"},
}

// TestEveryPromiseOfTheConsoleIsWalked finds each story and test that the list names. A promise without a story fails, and so does
// a story that nothing was promised for.
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
			t.Errorf("no story with both hands: %s", w.promise)
		case !story && !strings.Contains(text.String(), "func "+w.by+"("):
			t.Errorf("%s is said to be walked by %s, which is not there", w.promise, w.by)
		}
	}
	for _, s := range walks {
		if !slices.ContainsFunc(walked, func(w struct{ promise, by string }) bool { return w.by == s.name }) {
			t.Errorf("nothing was promised that the story %q walks", s.name)
		}
	}
}
