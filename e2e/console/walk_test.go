package console

import (
	"testing"

	"umg/e2e/harness"
)

// walk is one story of a person in the console, written once and done by both hands.
type walk struct {
	name  string
	plays func(w *walker)
}

// walks are all stories.
var walks = []walk{
	{"first request", walkFirstRequest},
	{"visitor", walkVisitor},
	{"overview", walkOverview},
	{"palette, shortcuts and theme", walkShell},
	{"models", walkModels},
	{"model page", walkModelPage},
	{"observe", walkObserve},
	{"request page", walkRequestPage},
	{"content", walkContent},
	{"billing", walkBilling},
	{"spending", walkSpending},
	{"without credit", walkWithoutCredit},
	{"views", walkViews},
	{"webhooks", walkWebhooks},
	{"keys", walkKeys},
	{"management key", walkManagement},
	{"settings", walkSettings},
	{"security", walkSecurity},
	{"docs", walkDocs},
	{"recipes", walkRecipes},
	{"developer", walkDeveloper},
	{"operator", walkOperator},
	{"playground", walkPlayground},
	{"panes", walkPanes},
	{"tools", walkTools},
	{"prompts", walkPrompts},
	{"deliveries", walkDeliveries},
	{"zoom", walkZoom},
	{"videos", walkVideos},
	{"assets", walkAssets},
	{"members", walkMembers},
}

// TestWalk goes through every story with the keyboard alone, and in make soak with the mouse as well. Console errors, failed scripts and what
// the content security policy blocks are its failures as well.
func TestWalk(t *testing.T) {
	t.Parallel()
	g := harness.SharedVideoDemo(t)
	for _, story := range walks {
		for _, with := range harness.InputDevices {
			t.Run(story.name+"/"+with, func(t *testing.T) {
				t.Parallel()
				p := harness.NewTab(t, desktopSize)
				w := &walker{Tab: p, c: harness.Customer{Gateway: g}, hand: mouseHand{p}}
				if with == "keyboard" {
					w.hand = keysHand{p}
				}
				story.plays(w)
			})
		}
	}
}

// enters signs a new customer in who has a key and the trial credit.
func (w *walker) enters(name string) {
	w.T.Helper()
	w.c = w.c.NewCustomer(w.T, name)
	w.signsWith(w.c.Email, w.c.Password)
}

func (w *walker) signsWith(email, password string) {
	w.T.Helper()
	w.to("/sign-in")
	w.text("E-mail", email)
	w.text("Password", password)
	w.button("Sign in")
	w.Must(w.Expect.Locator(w.Locator("#balance")).ToBeVisible())
}
