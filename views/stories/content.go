package stories

import (
	"time"

	"github.com/a-h/templ"

	"umg/views"
	requestpages "umg/views/requests"
	settingpages "umg/views/settings"
)

const (
	askedText = `{
  "model": "meridian/atlas-large",
  "messages": [
    {
      "role": "system",
      "content": "You answer in one sentence."
    },
    {
      "role": "user",
      "content": [
        {
          "type": "text",
          "text": "Here is my key [redacted API key]. What does this picture show?"
        },
        {
          "type": "image_url",
          "image_url": {
            "url": "[image, 481209 bytes]"
          }
        }
      ]
    }
  ],
  "stream": true
}`
	answeredText = `{
  "id": "chatcmpl_01kb4a6zt4h2s8j5y7r3w9mvaq",
  "object": "chat.completion",
  "created": 1795342500,
  "model": "meridian/atlas-large",
  "choices": [
    {
      "index": 0,
      "message": {
        "role": "assistant",
        "content": "A lighthouse at dusk, with a boat that leaves the harbour <b>under full sail</b>."
      },
      "finish_reason": "stop"
    }
  ]
}`
)

// keptContent is what was asked and answered in a call.
func keptContent() requestpages.CallContent {
	return requestpages.CallContent{
		State: requestpages.ContentKept, Streamed: true, Redacted: 1, Days: 30, ExpiresAt: Now().Add(30 * 24 * time.Hour),
		Request: requestpages.ContentText{Text: askedText, JSON: true, Bytes: 642_180},
		Answer:  requestpages.ContentText{Text: answeredText, JSON: true, Bytes: 9_412},
	}
}

// contentStories are the states of what is kept of a call, and the questions before it goes.
func contentStories() []Story {
	call := func(name, title string, content requestpages.CallContent) Story {
		return Story{Name: name, Group: "Requests", Title: title, Status: 200, Path: "/console/requests/" + exampleCalls()[0].ID,
			View: func(s views.Shell) templ.Component {
				return requestpages.DetailPage(requestpages.Detail{
					Shell: s, Request: exampleCalls()[0], RateCard: exampleCalls()[0].Model + "@3", Attempts: 1, Reserved: 48_200_000,
					Computed: exampleCalls()[0].Cost, Charge: "txn_01kb4a6zt4h2s8j5y7r3w9mvaq", Entry: 98_120, Content: content,
					Trail: exampleTrail(requestpages.TrailAttempt{Provider: "meridian", Status: 200, Start: 910 * time.Microsecond,
						First: exampleCalls()[0].FirstByte}),
					Rule: views.SettlementRule{Reason: "completed", Charge: "usage", Text: "Charged what the provider counted."},
				})
			}}
	}
	cut := keptContent()
	cut.Streamed, cut.Redacted = false, 0
	cut.Request = requestpages.ContentText{Bytes: 210_400, Cut: true,
		Text: `{"model":"meridian/atlas-large","messages":[{"role":"user","content":"A very long text that`}
	cut.Answer = requestpages.ContentText{Text: "", Bytes: 0}
	ask := func(name, title, path string, d settingpages.ContentDelete) Story {
		return Story{Name: name, Group: "Requests", Title: title, Status: 200, Path: path,
			View: func(s views.Shell) templ.Component {
				d.Shell = s
				return settingpages.ContentDeletePage(d)
			}}
	}
	deleted := at(3 * time.Hour)
	return []Story{
		call("request-content", "A call with what was asked and answered", keptContent()),
		call("request-content-cut", "A call whose request was cut off, and that was not answered", cut),
		call("request-content-deleted", "A call whose content was deleted", requestpages.CallContent{State: requestpages.ContentDeleted,
			DeletedAt: deleted}),
		call("request-content-cleared", "A call whose content went with all",
			requestpages.CallContent{State: requestpages.ContentCleared, DeletedAt: deleted}),
		call("request-content-over", "A call whose content is too old", requestpages.CallContent{State: requestpages.ContentOver, Days: 30}),
		call("request-content-silent", "A call whose key did not ask", requestpages.CallContent{State: requestpages.ContentSilent}),
		call("request-content-played", "A call from the playground that is not kept",
			requestpages.CallContent{State: requestpages.ContentPlayed}),
		call("request-content-before", "A call of before the choice", requestpages.CallContent{State: requestpages.ContentBefore}),
		call("request-content-soon", "A call whose content is on its way", requestpages.CallContent{State: requestpages.ContentSoon}),
		call("request-content-none", "A call whose content was lost", requestpages.CallContent{State: requestpages.ContentNone}),
		call("request-content-hidden", "A call, for a role that sees no content", requestpages.CallContent{State: requestpages.ContentHidden}),
		ask("content-delete", "Delete the content of a call", "/console/requests", settingpages.ContentDelete{RequestID: exampleCalls()[0].ID}),
		ask("content-clear", "Delete all stored content", "/console/settings/account", settingpages.ContentDelete{KeptBytes: 12_406_000}),
	}
}
