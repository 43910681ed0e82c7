package console

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"umg/app"
	"umg/app/console/page"
	"umg/app/idempotency"
	"umg/app/video"
)

const (
	onceLooksMax = 20 // A repeated form checks this often whether the first one is done.
	onceEvery    = 250 * time.Millisecond
)

// onceForm matches the tokens of onceToken. Forms with any other token are not protected against repetition.
var onceForm = regexp.MustCompile(`^form_[0-9a-z]{26}$`)

// onceToken identifies a form, so that sending it twice has its effect once.
func (c *Console) onceToken() string {
	if c.o.Repeats == nil {
		return ""
	}
	return c.o.IDs.New("form")
}

// videoOnce makes a video for a form. The same request of the same form, sent again by a second click or a reloaded page, returns
// the same video.
func (c *Console) videoOnce(p *page.Page, call video.Call, once string) (video.Job, error) {
	ctx := p.Request().Context()
	if c.o.Repeats == nil || !onceForm.MatchString(once) {
		created, err := c.o.Videos.Create(ctx, call)
		return created.Job, err
	}
	body := append([]byte(call.Source+"\n"), call.Body...)
	if call.Upload != nil {
		body = append(body, call.Upload.Data...)
	}
	claim, err := c.beginOnce(ctx, idempotency.Request{
		AccountID: p.User.AccountID, Key: once, Operation: fmt.Sprintf("console/videos %x", sha256.Sum256(body)), Body: body,
		ResultID: c.o.IDs.New("video"),
	})
	if err != nil {
		return video.Job{}, err
	}
	if claim.Answer != nil {
		return c.o.Videos.Get(ctx, p.User.AccountID, claim.ResultID)
	}
	call.ID = claim.ResultID
	created, err := c.o.Videos.Create(ctx, call)
	if err != nil {
		_ = c.o.Repeats.Forget(context.WithoutCancel(ctx), claim) // If Forget fails, the claim expires.
		return video.Job{}, err
	}
	// A repetition finds the job by its id, whatever becomes of this.
	_ = c.o.Repeats.Keep(context.WithoutCancel(ctx), claim, idempotency.Answer{Status: http.StatusOK, Body: []byte("{}")})
	return created.Job, nil
}

// beginOnce claims the token of a form. It waits a moment while an earlier request of the same form is being handled.
func (c *Console) beginOnce(ctx context.Context, r idempotency.Request) (idempotency.Claim, error) {
	for looks := 1; ; looks++ {
		claim, err := c.o.Repeats.Begin(ctx, r)
		if err == nil || app.KindOf(err) != app.Conflict || looks == onceLooksMax {
			return claim, err
		}
		select {
		case <-ctx.Done():
			return claim, ctx.Err()
		case <-time.After(onceEvery):
		}
	}
}
