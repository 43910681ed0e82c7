package e2e

import (
	"net/http"

	"github.com/playwright-community/playwright-go"
)

// walkDeliveries reads what was sent to an endpoint that is gone, sends it again, enables the endpoint and recovers what failed.
func walkDeliveries(w *walker) {
	w.enters("walks-deliveries")
	r := newReceiver(w.t)
	r.answers(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusGone) })
	w.c.listens(w.t, r, "video.completed")
	video := textAt(w.c.film(w.t, videoBody(reelModel, "a boat", `"seconds":"4"`)), "id")
	r.about(w.t, "video.completed", video)
	w.menu("Webhooks")
	w.sees("it answered 410 Gone")
	w.hand.presses(w.Locator(onStage).Locator("a.row-link").First())
	w.must(w.expect.Locator(w.Locator(`[data-testid="delivery"]`)).ToContainText("Failed"))
	w.link("video.completed")
	w.shows("#payload-text-json", video)
	w.must(w.expect.Locator(w.Locator("#attempt-1")).ToContainText("Answered 410 Gone"))
	w.button("Enable the endpoint")
	w.sees("is enabled")
	w.link("video.completed")
	w.button("Resend")
	w.must(w.expect.Locator(w.Locator("#attempt-2")).ToContainText("Answered 410 Gone"))
	w.must(w.expect.Locator(w.Locator("#delivery dl")).ToContainText("Failed"))
	r.answers(nil)
	w.hand.presses(w.on(playwright.AriaRoleButton, "Enable the endpoint"))
	w.sees("is enabled")
	w.link("Recover…")
	w.button("Send again")
	w.must(w.expect.Locator(w.Locator(`[data-testid="delivery"]`)).ToContainText("Delivered"))
	w.link("Delivered")
	w.must(w.expect.Locator(w.Locator(`[data-testid="delivery"]`)).ToHaveCount(1))
	if hits := r.about(w.t, "video.completed", video); len(hits) < 3 {
		w.t.Errorf("%d attempts came", len(hits))
	}
}
