package console

import (
	"net/http"

	"github.com/playwright-community/playwright-go"
	"umg/e2e/harness"
)

// walkDeliveries reads what was sent to an endpoint that is gone, sends it again, enables the endpoint and recovers what failed.
func walkDeliveries(w *walker) {
	w.enters("walks-deliveries")
	r := harness.NewWebhookReceiver(w.T)
	r.AnswerWith(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusGone) })
	w.c.AddWebhook(w.T, r, "video.completed")
	video := harness.TextMember(w.c.CompleteVideo(w.T, harness.VideoBody(harness.VideosModel, "a boat", `"seconds":"4"`)), "id")
	r.WaitForEvent(w.T, "video.completed", video)
	w.menu("Webhooks")
	w.RequireText("it answered 410 Gone")
	w.hand.presses(w.Locator(onStage).Locator("a.row-link").First())
	w.Must(w.Expect.Locator(w.Locator(`[data-testid="delivery"]`)).ToContainText("Failed"))
	w.link("video.completed")
	w.shows("#payload-text-json", video)
	w.Must(w.Expect.Locator(w.Locator("#attempt-1")).ToContainText("Answered 410 Gone"))
	w.button("Enable the endpoint")
	w.RequireText("is enabled")
	w.link("video.completed")
	w.button("Resend")
	w.Must(w.Expect.Locator(w.Locator("#attempt-2")).ToContainText("Answered 410 Gone"))
	w.Must(w.Expect.Locator(w.Locator("#delivery dl")).ToContainText("Failed"))
	r.AnswerWith(nil)
	w.hand.presses(w.on(playwright.AriaRoleButton, "Enable the endpoint"))
	w.RequireText("is enabled")
	w.link("Recover…")
	w.button("Send again")
	w.Must(w.Expect.Locator(w.Locator(`[data-testid="delivery"]`)).ToContainText("Delivered"))
	w.link("Delivered")
	w.Must(w.Expect.Locator(w.Locator(`[data-testid="delivery"]`)).ToHaveCount(1))
	if hits := r.WaitForEvent(w.T, "video.completed", video); len(hits) < 3 {
		w.T.Errorf("%d attempts came", len(hits))
	}
}
