package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"umg/app/webhook"
)

// prepareObjects makes the videos, assets and webhook endpoints that rows name.
func (w *errorWorld) prepareObjects(t *testing.T) {
	t.Helper()
	w.names["film"], w.names["expired"] = w.film("test/film", "A lighthouse"), w.film("test/film", "A harbour")
	w.names["bare"] = w.film("test/assets", "A bridge")
	w.db.MustExec(`update video_jobs set expires_at = now() - interval '1 day' where id = $1`, w.names["expired"])
	running := w.send("caller", http.MethodPost, "/v1/videos", `{"model":"test/film","prompt":"A storm","size":"1280x720","seconds":"4"}`)
	w.names["running"] = decode[struct{ ID string }](t, running, http.StatusOK).ID
	asset := func(name string) string {
		made := w.send("caller", http.MethodPost, assetsPath, `{"asset_type":"image","url":"`+w.upstream+`/media/samples/picture.png","name":"`+name+`"}`)
		return decode[assetReply](t, made, http.StatusOK).ID
	}
	w.names["asset"], w.names["apart"], w.names["broken"] = asset("one"), asset("two"), asset("three")
	made := w.send("caller", http.MethodPost, "/v1/webhook_endpoints", `{"name":"n","url":"{gone}","event_types":["video.failed"]}`)
	w.names["endpoint"] = decode[endpoint](t, made, http.StatusOK).ID
	must(t, w.webhooks.Emit(t.Context(), w.db, webhook.Event{AccountID: w.owner.AccountID, Type: webhook.VideoFailed, ObjectID: "video_1"}))
	listed := w.send("caller", http.MethodGet, "/v1/webhook_endpoints/{endpoint}/deliveries", "")
	w.names["delivery"] = decode[struct{ Data []struct{ ID string } }](t, listed, http.StatusOK).Data[0].ID
}

// requestErrors are about requests whatever they are for.
var requestErrors = []errorRow{
	{code: "not_found", ask: on("caller", "POST", "/v1/chat/completion", "{}"), says: []string{`"/v1/chat/completion"`, "Near it are POST /v1/chat/completions"}},
	{code: "not_found", ask: on("caller", "GET", "/v1/generation?id=gen_nothing", ""), param: "id", says: []string{`"gen_nothing"`}},
	{code: "unknown_parameter", ask: on("caller", "GET", "/v1/usage?modell=x", ""), param: "modell", says: []string{`"modell"`, "There are", "model"}},
	{code: "unknown_parameter", ask: on("manager", "POST", "/v1/account", `{"nam":"x"}`), param: "nam", says: []string{`"nam"`, "There are name"}},
	{code: "invalid_value", ask: on("caller", "GET", "/v1/usage?from=yesterday", ""), param: "from", says: []string{`"yesterday"`}},
	{code: "invalid_value", ask: on("manager", "POST", "/v1/account", `{"name":7}`), param: "name", says: []string{"name must be a string, not 7."}},
	{code: "missing_required_parameter", ask: on("manager", "POST", "/v1/invitations", `{"role":"admin"}`), param: "email", says: []string{"email"}},
	{code: "invalid_email", ask: on("manager", "POST", "/v1/invitations", `{"email":"x","role":"admin"}`), param: "email", says: []string{`"x"`, "name@example.com"}},
	{code: "range_too_large", ask: func(w *errorWorld, _ string) reply {
		w.db.MustExec(`insert into usage_rollups (account_id, slot, key_id, model, style, reason, requests, streamed, meters, cost_nanos,
			overrun_nanos, first_byte_micros, duration_micros, failed)
			select $1, date_trunc('hour', now()) - interval '2 hours', 'key_' || n, 'm' || n, 'chat', 'completed', 1, 0, '{}', 0, 0, 0, 0, 0 from generate_series(1, 20001) n`, w.owner.AccountID)
		return w.send("caller", "GET", "/v1/usage?group_by=model", "")
	}, param: "from", says: []string{"20000 lines", "shorter"}, world: world(nil, nil)},
	{code: "request_timeout", ask: halfway, says: []string{"16384 bytes per second", "120 seconds", "Send the request again"},
		world: world(func(p *plan) { p.api.Now = func() time.Time { return time.Now().Add(-4500 * time.Millisecond) } }, nil)},
}

// accountErrors are about keys, members and the account by API.
var accountErrors = []errorRow{
	{code: "key_not_found", ask: on("manager", "GET", "/v1/keys/key_nothing", ""), says: []string{"of this id in the account", "GET /v1/keys"}},
	{code: "member_not_found", ask: on("manager", "GET", "/v1/members/user_nothing", ""), says: []string{"of this id in the account", "GET /v1/members"}},
	{code: "invitation_not_found", ask: on("manager", "GET", "/v1/invitations/inv_nothing", ""), says: []string{"of this id in the account", "GET /v1/invitations"}},
	{code: "already_member", ask: on("manager", "POST", "/v1/invitations", `{"email":"owner@example.com","role":"admin"}`), param: "email",
		says: []string{"owner@example.com", "Change their role"}},
	{code: "owner_required", ask: on("manager", "POST", "/v1/invitations", `{"email":"x@example.com","role":"owner"}`), says: []string{"Only an owner", "console"}},
	{code: "too_many_keys", ask: func(w *errorWorld, _ string) (a reply) {
		for n := range 250 {
			if a = w.send("manager", "POST", "/v1/keys", fmt.Sprintf(`{"name":"k%d"}`, n)); a.status != http.StatusOK {
				break
			}
		}
		return a
	}, says: []string{"at most 200 keys", "Delete one"}, world: world(nil, nil)},
	{code: "too_many_invitations", ask: func(w *errorWorld, _ string) (a reply) {
		for n := range 60 {
			if a = w.send("manager", "POST", "/v1/invitations", fmt.Sprintf(`{"email":"p%d@example.com","role":"billing"}`, n)); a.status != http.StatusOK {
				break
			}
		}
		return a
	}, says: []string{"at most 50 open invitations", "Revoke one"}, world: world(nil, nil)},
}

// videoErrors are about videos.
var videoErrors = []errorRow{
	{code: "video_not_found", ask: on("caller", "GET", "/v1/videos/video_nothing", ""), param: "video_id", says: []string{"of this id in the account", "GET /v1/videos"}},
	{code: "video_not_ready", ask: on("caller", "POST", "/v1/videos/{running}/remix", `{"prompt":"x"}`), param: "video_id",
		says: []string{"its status is", "Wait until it is completed"}},
	{code: "video_expired", ask: on("caller", "GET", "/v1/videos/{expired}/content", ""), param: "video_id", says: []string{"no longer kept", "Create the video again"}},
	{code: "variant_unavailable", ask: on("caller", "GET", "/v1/videos/{bare}/content?variant=spritesheet", ""), param: "variant",
		says: []string{"spritesheet", "video"}},
	{code: "range_not_satisfiable", ask: on("caller", "GET", "/v1/videos/{film}/content", "", "Range", "bytes=99999999-"), param: "Range",
		says: []string{"bytes=99999999-", "it has ", "bytes=0-1023"}},
	{code: "unsupported_endpoint", ask: on("caller", "POST", "/v1/videos/edits", "{}"), says: []string{"/v1/videos/edits", "POST /v1/videos"}},
	{code: "content_policy_violation", ask: on("caller", "POST", "/v1/videos", `{"model":"test/film","prompt":"guardrail: likeness"}`), param: "prompt",
		says: []string{"likeness"}},
	{code: "callback_not_found", ask: on("none", "POST", "/callbacks/videos/nothing", ""), says: []string{"No video job has this callback address"}},
	{code: "invalid_body", ask: on("caller", "POST", "/v1/videos", "x", "Content-Type", "multipart/form-data"), says: []string{"boundary"}},
	{code: "rate_limit_exceeded", ask: func(w *errorWorld, _ string) reply {
		on("caller", "POST", "/v1/videos", `{"model":"test/reel","prompt":"x"}`)(w, "")
		return on("caller", "POST", "/v1/videos", `{"model":"test/reel","prompt":"x"}`)(w, "")
	}, says: []string{"1 video of test/reel in 24 hours", "The next is possible in 24 h."}},
}

// assetErrors are about material assets.
var assetErrors = []errorRow{
	{code: "asset_not_found", ask: on("caller", "POST", assetsPath+"/get", `{"asset_id":"asset_nothing"}`), param: "asset_id",
		says: []string{"no such asset in this account", "POST /v1/files/vendorx/assets/list"}},
	{code: "asset_not_ready", ask: func(w *errorWorld, _ string) reply {
		w.db.MustExec(`update assets set state = 'failed', reason = 'x' where id = $1`, w.names["broken"])
		return w.send("caller", "POST", "/v1/videos", `{"model":"test/assets","prompt":"x","asset_ids":["{broken}"]}`)
	}, param: "asset_ids[0]", says: []string{"asset_ids[0]", "failed", "Register a source"}},
	{code: "assets_apart", ask: func(w *errorWorld, _ string) reply {
		w.send("caller", "POST", assetsPath+"/get", `{"asset_id":"{asset}"}`)
		w.send("caller", "POST", assetsPath+"/get", `{"asset_id":"{apart}"}`)
		w.db.MustExec(`update assets set provider = 'secretly-one' where id = $1`, w.names["apart"])
		return w.send("caller", "POST", "/v1/videos", `{"model":"test/assets","prompt":"x","asset_ids":["{asset}","{apart}"]}`)
	}, param: "asset_ids", says: []string{"{asset}", "{apart}"}},
	{code: "asset_limit_reached", ask: func(w *errorWorld, _ string) reply {
		w.db.MustExec(`update asset_counts set live = 10000`)
		defer w.db.MustExec(`update asset_counts set live = 3`)
		return w.send("caller", "POST", assetsPath, `{"asset_type":"image","url":"`+w.upstream+`/media/samples/picture.png"}`)
	}, says: []string{"10,000 material assets", "Delete"}},
}

// webhookErrors are about webhook endpoints and deliveries.
var webhookErrors = []errorRow{
	{code: "webhook_endpoint_not_found", ask: on("caller", "GET", "/v1/webhook_endpoints/whe_nothing", ""),
		says: []string{"of this id in the account", "GET /v1/webhook_endpoints"}},
	{code: "webhook_delivery_not_found", ask: on("caller", "GET", "/v1/webhook_endpoints/{endpoint}/deliveries/whd_nothing", ""), says: []string{"of this id in the account", "GET /v1/webhook_endpoints/{id}/deliveries"}},
	{code: "url_not_allowed", ask: on("caller", "POST", "/v1/webhook_endpoints", `{"name":"n","url":"https://10.0.0.1/","event_types":["video.failed"]}`),
		param: "url", says: []string{"10.0.0.1", "public"}},
	{code: "webhook_endpoint_unreachable", ask: on("caller", "POST", "/v1/webhook_endpoints/{endpoint}/test", `{"event_type":"video.failed"}`),
		says: []string{"The test event was not answered", "Make sure that"}},
	{code: "webhook_attempts_exhausted", ask: func(w *errorWorld, _ string) reply {
		w.db.MustExec(`update webhook_deliveries set attempts = 100`)
		return w.send("caller", "POST", "/v1/webhook_endpoints/{endpoint}/deliveries/{delivery}/resend", "")
	}, says: []string{"100 times", "GET /v1/webhook_events"}},
	{code: "webhook_endpoint_disabled", ask: func(w *errorWorld, _ string) reply {
		w.send("caller", "POST", "/v1/webhook_endpoints/{endpoint}", `{"status":"disabled"}`)
		return w.send("caller", "POST", "/v1/webhook_endpoints/{endpoint}/deliveries/{delivery}/resend", "")
	}, param: "status", says: []string{"POST /v1/webhook_endpoints/{id}", "status enabled"}},
	{code: "webhook_endpoints_exhausted", ask: func(w *errorWorld, _ string) (a reply) {
		for n := range 30 {
			a = w.send("caller", "POST", "/v1/webhook_endpoints", fmt.Sprintf(`{"name":"n%d","url":"%s/health","event_types":["video.failed"]}`, n, w.upstream))
			if a.status != http.StatusOK {
				break
			}
		}
		return a
	}, says: []string{"20 webhook endpoints", "Delete one"}, world: world(nil, nil)},
}

// halfway sends a part of a body and waits, by a clock at which the body's grace is almost over when it begins.
func halfway(w *errorWorld, _ string) reply {
	c := w.dial(w.t.(*testing.T))
	_, err := c.Write([]byte("POST /v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + w.secrets["caller"] +
		"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n" + strings.Repeat(" ", 10)))
	must(w.t, err)
	return c.answer()
}
