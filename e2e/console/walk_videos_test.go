package console

import (
	"regexp"
	"strings"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// walkVideos has itself asked above an amount, makes the same video with two models, watches one, remixes it, looks for all in the
// gallery and deletes one.
func walkVideos(w *walker) {
	w.enters("walks-videos")
	w.menu("Settings")
	w.hand.writes(w.Locator("#video-ask"), "0.5")
	w.button("Save amount")
	w.Must(w.Expect.Locator(w.Locator("#video-ask")).ToHaveValue("0.5"))
	w.menu("Playground")
	w.link("Video")
	w.hand.writes(w.Locator("#video-prompt"), "a red kite")
	w.hand.presses(w.Locator("#video-seconds-4"))
	w.Must(w.Expect.Locator(w.Locator("[data-video-price]")).ToHaveText("4 s × $0.10 = $0.40"))
	second, err := w.Locator(`#video-also option[value="` + harness.VideosModel + `"]`).TextContent()
	w.Must(err)
	w.hand.chooses(w.Locator("#video-also"), strings.TrimSpace(second))
	w.Must(w.Expect.Locator(w.Locator("[data-video-price]")).ToContainText("4 s × $0.10 + 4 s × $"))
	w.button("Make 2 videos")
	w.shows("#video-agree", "This costs $")
	w.count(".video-result", 0)
	w.at("[data-video-button]")
	w.count(".video-result video", 2)
	first := w.Locator(".video-result").Filter(playwright.LocatorFilterOptions{HasText: harness.OperationsModel})
	w.hand.presses(first.GetByRole("link", playwright.LocatorGetByRoleOptions{Name: "Open, download, remix"}))
	w.Must(w.Expect.Locator(w.Locator("#video-live video")).ToBeVisible())
	w.link("View code")
	w.Must(w.Expect.Locator(w.Locator("dialog[open]")).ToContainText("a red kite"))
	w.Must(w.Keyboard().Press("Escape"))
	w.text("New prompt", "a blue kite")
	w.button("Remix")
	w.RequireText("Made from")
	w.Must(w.Expect.Locator(w.Locator("#video-live video")).ToBeVisible())
	w.menu("Videos")
	cards := `[data-testid="video"]`
	w.count(cards, 3)
	w.text("Search prompts", "blue")
	w.count(cards, 1)
	w.hand.chooses(w.labelled("Status"), "Failed")
	w.RequireText("No video matches")
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("status=failed")))
	w.link("Show all videos")
	w.count(cards, 3)
	w.link("Table")
	w.Must(w.Expect.Locator(w.on(playwright.AriaRoleLink, "Table")).ToHaveAttribute("aria-current", "true"))
	w.hand.presses(w.Locator("[data-bulk-pick]").First())
	w.Must(w.Expect.Locator(w.Locator("[data-bulk-count]")).ToHaveText("1 selected"))
	w.button("Delete selected…")
	w.button("Delete video")
	w.count(cards, 2)
}

// walkAssets registers an asset, finds it by a word and by its type, and deletes it.
func walkAssets(w *walker) {
	w.enters("walks-assets")
	w.c.CreateAsset(w.T, "audio", "sound.wav", "Ship's bell")
	w.menu("Assets")
	w.link("New asset")
	w.hand.writes(w.Locator("dialog[open] #asset-url"), w.c.SampleURL("picture.png"))
	w.hand.writes(w.Locator("dialog[open] #asset-name"), "Harbour")
	w.button("Check and register")
	w.title("Harbour")
	w.Must(w.Expect.Locator(w.Locator("#asset-live:not([data-poll]) [role=status]")).ToContainText("Active"))
	w.menu("Assets")
	rows := `[data-testid="asset"]`
	w.count(rows, 2)
	w.text("Search names and URLs", "bell")
	w.count(rows, 1)
	w.hand.chooses(w.labelled("Type"), "Pictures")
	w.RequireText("No asset matches")
	w.Must(w.Expect.Page(w.Page).ToHaveURL(regexp.MustCompile("type=image")))
	w.text("Search names and URLs", "harb")
	w.count(rows, 1)
	w.link("Harbour")
	w.link("Delete…")
	w.button("Delete asset")
	w.RequireText("The asset was deleted.")
	w.count(rows, 1)
}

// walkMembers invites a person, who joins; gives them another role, and removes them.
func walkMembers(w *walker) {
	w.enters("walks-members")
	guest := w.other(w.c.NewCustomer(w.T, "walks-guest"))
	w.to("/settings/members")
	w.hand.writes(w.Locator("#invite-email"), guest.c.Email)
	w.button("Invite")
	w.RequireText(guest.c.Email + " is invited.")
	guest.signsWith(guest.c.Email, guest.c.Password)
	guest.Open(guest.c.ConsoleURL + harness.NewConsoleClient(w.T, w.c.Gateway).MailedLink(w.T, "invitation", guest.c.Email))
	guest.button("Join")
	guest.RequireText("You are developer of ")
	w.to("/settings/members")
	w.hand.chooses(w.labelled("Role of "+guest.c.Email), "Billing")
	w.button("Change the role of " + guest.c.Email)
	w.Must(w.Expect.Locator(w.labelled("Role of " + guest.c.Email)).ToHaveValue("billing"))
	guest.to("/keys")
	guest.RequireText("Your role in this account is billing")
	w.link("Remove " + guest.c.Email)
	w.button("Remove member")
	w.count(`[data-testid="member"]`, 1)
	guest.to("/keys")
	guest.Must(guest.Expect.Locator(guest.row("key", "walks-guest")).ToBeVisible())
}

// other is another person with a browser of their own, who uses the same hand.
func (w *walker) other(c harness.Customer) *walker {
	p := harness.NewTab(w.T, desktopSize)
	if _, mouse := w.hand.(mouseHand); mouse {
		return &walker{Tab: p, c: c, hand: mouseHand{p}}
	}
	return &walker{Tab: p, c: c, hand: keysHand{p}}
}
