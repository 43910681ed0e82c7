package console

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// files chooses a file by a field or a button, whichever opens the window of the system.
func (r *guarded) files(button playwright.Locator, file playwright.InputFile) {
	r.T.Helper()
	chooser, err := r.ExpectFileChooser(func() error { return button.Click() })
	r.Must(err)
	r.Must(chooser.SetFiles([]playwright.InputFile{file}))
}

// TestHostileFilesStayText uploads files whose names and contents would run: pictures to playgrounds, conversations, and prompts that
// are whole, or invalid with a known error.
func TestHostileFilesStayText(t *testing.T) {
	t.Parallel()
	s := newStranger(t)
	c := harness.SharedVideoDemo(t).NewCustomer(t, "files")
	r := guards(t, c.Gateway, c.SignInToConsole(t), s)
	name := s.hostile()[0] + s.hostile()[6]
	picture := playwright.InputFile{Name: name + ".png", MimeType: "image/png", Buffer: twoHalves(t, 32, 16)}
	r.visit("/console/playground?model=meridian/atlas-large&style=chat")
	r.Must(r.Locator(`[popovertarget="play-image"], [aria-label="Add an image"]`).First().Click())
	r.files(r.Locator("#play-file"), picture)
	r.Must(r.Expect.Locator(r.Locator("[data-image-name]")).ToContainText("onerror=canary()"))
	r.silent("a picture to look at")
	askPlayground(r.Tab, "what is it?")
	waitForAnswer(r.Tab, 1)
	r.conversation(name)
	r.visit("/console/playground/video")
	r.files(r.Locator("#video-file"), picture)
	r.Must(r.Expect.Locator(r.Locator("[data-crop-note]")).ToContainText("32 × 16"))
	r.silent("a first frame")
	r.imports(name)
}

// conversation takes a hostile file into the playground.
func (r *guarded) conversation(name string) {
	r.T.Helper()
	wall := r.evil.wall()
	content := map[string]any{
		"kind": "umg.playground", "version": 1, "fields": map[string]string{"model": harness.CheapModel, "style": "chat", "system": wall, "format": "text", "tools": hostileTools},
		"prompt": wall, "turns": []map[string]any{
			{"role": "user", "text": wall, "image": "https://" + r.evil.hostile()[0]},
			{"role": "assistant", "text": wall, "calls": []map[string]string{{"id": r.evil.hostile()[1], "name": r.evil.hostile()[0], "arguments": wall}}},
			{"role": "tool", "text": wall, "call": r.evil.hostile()[1]},
		},
	}
	text, err := json.Marshal(content)
	r.Must(err)
	r.Must(r.Locator("#play-menu-button, [aria-label^='More for ']").First().Click())
	r.files(r.Locator("[data-import]").First(), playwright.InputFile{Name: name + ".json", MimeType: "application/json", Buffer: text})
	r.Must(r.Expect.Locator(r.Locator("[data-turn=tool] [data-call-name]").First()).ToContainText("onerror=canary()"))
	r.silent("a conversation out of a file")
}

// imports takes prompts out of files: two that are refused in their own words, and one that is whole.
func (r *guarded) imports(name string) {
	r.T.Helper()
	evil := r.evil.hostile()[0]
	turns := []map[string]any{
		{"role": "user", "text": r.evil.wall()},
		{"role": "assistant", "text": r.evil.wall(), "calls": []map[string]string{{"id": "call_1", "name": "look", "arguments": harness.Quote(r.evil.wall())}}},
		{"role": "tool", "text": r.evil.wall(), "call": "call_1"},
	}
	whole := map[string]any{"object": "prompt", "version": 1, "name": evil, "content": map[string]any{
		"model": harness.CheapModel, "style": "chat", "system": r.evil.wall(), "prompt": "{{thing}}" + r.evil.wall(), "turns": turns,
	}}
	for _, content := range []any{map[string]any{evil: evil}, map[string]any{"object": evil, "version": 1, "content": map[string]any{"model": evil}}, whole} {
		text, err := json.Marshal(content)
		r.Must(err)
		r.visit("/console/prompts/import")
		r.Must(r.Locator("#prompt-file").SetInputFiles([]playwright.InputFile{{Name: name + ".json", MimeType: "application/json", Buffer: text}}))
		answer, err := r.ExpectResponse("**/console/prompts/import", func() error {
			return r.GetByRole("button", playwright.PageGetByRoleOptions{Name: "Import", Exact: new(true)}).Click()
		}, playwright.PageExpectResponseOptions{})
		r.Must(err)
		if answer.Status() >= http.StatusInternalServerError {
			r.T.Errorf("a file was answered by %d", answer.Status())
		}
		if _, good := content.(map[string]any)["name"]; good {
			r.Must(r.Expect.Locator(r.Locator("main h1")).ToContainText("onerror=canary()"))
		} else {
			r.Must(r.Expect.Locator(r.Locator("#prompt-file-error")).ToBeVisible())
		}
		r.silent("a prompt out of a file")
	}
	if !strings.Contains(r.URL(), "/prompts/") {
		r.T.Errorf("the import ended at %s", r.URL())
	}
}
