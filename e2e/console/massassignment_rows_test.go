package console

import (
	"net/http"

	"umg/e2e/harness"
)

var dry = []string{"X-Dry-Run", "1"}

const (
	passwordField = "current_password=correct+horse+battery+staple"
	filmBody      = `{"model":"meridian/reel","prompt":"a kite","seconds":"4"}`
)

// assignments say what a valid body of each route is that takes one.
var assignments = map[string]assignment{
	"POST /v1/chat/completions":         {body: chatBody, few: true, settles: true},
	"POST /v1/messages":                 {body: messagesHi, headers: dry},
	"POST /v1/messages/count_tokens":    {body: messagesHi},
	"POST /v1/responses":                {body: `{"model":"` + harness.CheapModel + `","input":"hi"}`, headers: dry},
	"POST /v1/responses/input_tokens":   {body: `{"model":"` + harness.CheapModel + `","input":"hi"}`},
	"POST /vendorc/native":              {body: nativeHi, headers: dry},
	"POST /vendorc/native/count_tokens": {body: nativeHi},

	"POST /v1/videos":                    {body: filmBody, few: true, settles: true},
	"POST /v1/vendora/videos":            {body: filmBody, headers: dry},
	"POST /videos":                       {body: filmBody, headers: dry},
	"POST /v1/videos/:id/remix":          {body: `{"prompt":"again"}`, headers: dry},
	"POST /v1/vendora/videos/:id/remix":  {body: `{"prompt":"again"}`, headers: dry},
	"POST /videos/:id/remix":             {body: `{"prompt":"again"}`, headers: dry},
	"POST /v1/videos/edits":              {body: `{}`, status: http.StatusNotFound},
	"POST /v1/videos/extensions":         {body: `{}`, status: http.StatusNotFound},
	"POST /v1/videos/characters":         {body: `{}`, status: http.StatusNotFound},
	"POST /v1/vendora/videos/edits":      {body: `{}`, status: http.StatusNotFound},
	"POST /v1/vendora/videos/extensions": {body: `{}`, status: http.StatusNotFound},
	"POST /v1/vendora/videos/characters": {body: `{}`, status: http.StatusNotFound},
	"POST /videos/edits":                 {body: `{}`, status: http.StatusNotFound},
	"POST /videos/extensions":            {body: `{}`, status: http.StatusNotFound},
	"POST /videos/characters":            {body: `{}`, status: http.StatusNotFound},
	"POST /callbacks/videos/:token":      {body: `{"id":"{video}"}`, status: http.StatusNotFound},

	"POST /v1/files/vendorx/assets":        {body: `{"asset_type":"image","url":"{picture}","name":"{fresh}"}`, few: true},
	"POST /v1/files/vendorx/assets/get":    {body: `{"asset_id":"{asset}"}`},
	"POST /v1/files/vendorx/assets/list":   {body: `{"page":1}`},
	"POST /v1/files/vendorx/assets/delete": {body: `{"asset_id":"{asset}"}`, few: true, settles: true, scene: oneAsset},

	"POST /v1/webhook_endpoints":                                 {body: `{"name":"{fresh}","url":"{receiver}","event_types":["video.failed"]}`, few: true},
	"POST /v1/webhook_endpoints/:id":                             {body: `{"name":"{fresh}"}`, known: []string{"status"}},
	"POST /v1/webhook_endpoints/:id/rotate_secret":               {body: `{"keep_old_secret_active_for_24_hours":true}`},
	"POST /v1/webhook_endpoints/:id/test":                        {body: `{"event_type":"video.completed"}`, few: true},
	"POST /v1/webhook_endpoints/:id/recover":                     {body: `{"since":1}`, few: true, settles: true},
	"POST /v1/webhook_endpoints/:id/deliveries/:delivery/resend": {body: `{}`, few: true, settles: true},

	"POST /webhooks/payments":    {body: `{"id":"evt_mass","type":"product.created","data":{"object":{"id":"{topup}"}}}`, known: []string{"account"}},
	"POST /webhooks/key_leaks":   {body: `[{"token":"{key_secret}","type":"t","url":"https://example.com/","source":"s"}]`, few: true, scene: newKey},
	"POST /v1/top_ups":           {body: `{"amount":"10"}`},
	"POST /v1/auto_top_up":       {body: `{"enabled":false}`},
	"POST /v1/content":           {body: `{"keep":"asked","days":7}`},
	"POST /v1/spend_limit":       {body: `{"limit":"900","period":"month"}`},
	"POST /v1/low_balance_alert": {body: `{"threshold":"3"}`},
	"POST /v1/billing_portal":    {body: `{}`},

	"POST /v1/keys":                   {body: `{"name":"{fresh}"}`, known: keyMembers},
	"POST /v1/keys/:id":               {body: `{"name":"{fresh}"}`, known: keyMembers},
	"PATCH /v1/keys/:id":              {body: `{"name":"{fresh}"}`, known: keyMembers},
	"POST /v1/keys/:id/rotate":        {body: `{"overlap_seconds":3600}`},
	"POST /v1/keys/:id/disable":       {body: `{}`},
	"POST /v1/keys/:id/enable":        {body: `{}`},
	"POST /v1/members/:id":            {body: `{"role":"billing"}`, known: []string{"role"}, scene: developer},
	"POST /v1/invitations":            {body: `{"email":"{fresh}@example.com","role":"billing"}`, known: []string{"role"}},
	"POST /v1/invitations/:id/resend": {body: `{}`, few: true, scene: invited},
	"POST /v1/account":                {body: `{"name":"{fresh}"}`},

	"POST /console/sign-up":             {body: "email={fresh}@example.com&password=correct+horse+battery+staple", few: true, scene: visitor},
	"POST /console/sign-in":             {body: "email={email}&password=correct+horse+battery+staple", few: true, scene: strangerAgain},
	"POST /console/sign-in/code":        {body: "code={code}", few: true, scene: halfIn},
	"POST /console/sign-out":            {few: true, scene: signedUp},
	"POST /console/theme":               {body: "theme=dark"},
	"POST /console/shortcuts":           {body: "keys=off"},
	"POST /console/notifications/read":  {body: "id=low"},
	"POST /console/onboarding":          {body: "show=true"},
	"POST /console/onboarding/send":     {status: http.StatusOK, few: true, settles: true},
	"POST /console/recipes/:tool/key":   {status: http.StatusOK, few: true},
	"POST /console/limits":              {body: "times=2&reason=more", few: true, scene: signedUp},
	"POST /console/operator/limits/:id": {body: "do=done&factor=9&" + passwordField, status: http.StatusNotFound, few: true},
	// Only an empty gateway has a set-up.
	"POST /console/setup":          {body: "code=ABCD-EFGH-IJKL-MNOP&email={fresh}@example.com&password=correct+horse+battery+staple", status: http.StatusNotFound, few: true, scene: visitor},
	"POST /console/setup/models":   {body: "markup=10%25", status: http.StatusNotFound, few: true},
	"POST /console/setup/try":      {status: http.StatusNotFound, few: true},
	"POST /console/setup/finish":   {status: http.StatusNotFound, few: true},
	"POST /console/forgot":         {body: "email={email}", status: http.StatusOK, few: true, scene: strangerAgain},
	"POST /console/reset":          {body: "token={token}&password=another+horse+battery+staple", status: http.StatusOK, few: true, scene: mailed("reset_password", forgets)},
	"POST /console/email":          {body: "token={token}", status: http.StatusOK, few: true, scene: mailed("change_email", moves)},
	"POST /console/verify":         {body: "token={token}", few: true, scene: unproven},
	"POST /console/verify/resend":  {few: true, scene: unproven},
	"POST /console/verify/trial":   {few: true, scene: signedUp},
	"POST /console/account/new":    {body: "name={fresh}", few: true, scene: alone},
	"POST /console/account/switch": {body: "account={account}"},

	"POST /console/playground":          {body: "model=" + harness.CheapModel + "&prompt=hi", status: http.StatusOK, few: true, settles: true},
	"POST /console/playground/settings": {body: "model=" + harness.CheapModel, status: http.StatusOK},
	"POST /console/playground/code":     {body: "model=" + harness.CheapModel + "&prompt=hi", status: http.StatusOK},
	"POST /console/playground/estimate": {body: "model=" + harness.CheapModel + "&prompt=hi", status: http.StatusOK},
	"POST /console/playground/video":    {body: "model=meridian/reel&prompt=a+kite&seconds=4&size=1280x720", few: true, settles: true},

	"POST /console/prompts":                          {body: "model=" + harness.CheapModel + "&prompt=hi&name={fresh}", known: []string{"model"}},
	"POST /console/prompts/import":                   {status: http.StatusUnprocessableEntity},
	"POST /console/prompts/:id/restore":              {body: "version=1", few: true, scene: savedPrompt},
	"POST /console/prompts/:id/duplicate":            {few: true},
	"POST /console/prompts/:id/rename":               {body: "name={fresh}"},
	"POST /console/prompts/:id/delete":               {few: true, scene: savedPrompt},
	"POST /console/playground/runs/:id/delete":       {status: http.StatusNotFound, few: true},
	"POST /console/prompts/:id/share":                {body: "version=1&end=7", status: http.StatusOK, few: true, scene: savedPrompt},
	"POST /console/prompts/:id/shares/:share/revoke": {few: true, scene: savedPrompt},
	"POST /console/shared/:token/copy":               {body: "name={fresh}"},

	"POST /console/videos/delete":     {body: "id={video}&sure=true", few: true, scene: oneFilm, known: []string{"id"}},
	"POST /console/videos/:id/delete": {few: true, scene: oneFilm},
	"POST /console/videos/:id/remix":  {body: "prompt=again", few: true, settles: true},

	"POST /console/assets":            {body: "type=image&url={picture}&name={fresh}", few: true},
	"POST /console/assets/delete":     {body: "id={asset}&sure=true", few: true, settles: true, scene: oneAsset, known: []string{"id"}},
	"POST /console/assets/:id/delete": {few: true, settles: true, scene: oneAsset},

	"POST /console/keys":             {body: "name={fresh}&mode=documented", status: http.StatusOK, known: []string{"scopes"}},
	"POST /console/keys/:id":         {body: "name={fresh}&mode=documented&scopes=usage:read", known: []string{"scopes"}},
	"POST /console/keys/:id/disable": {few: true, scene: newKey},
	"POST /console/keys/:id/enable":  {},
	"POST /console/keys/:id/rotate":  {body: "overlap=3600", status: http.StatusOK, few: true, scene: newKey},
	"POST /console/keys/:id/end-old": {few: true, scene: keyOfTwo},
	"POST /console/keys/:id/delete":  {body: "name={key_name}", few: true, scene: newKey},

	"POST /console/webhooks":                                 {body: "name={fresh}&url={receiver}&events=video.failed", status: http.StatusOK, few: true},
	"POST /console/webhooks/:id/edit":                        {body: "name={fresh}&url={receiver}&events=video.completed"},
	"POST /console/webhooks/:id/enable":                      {},
	"POST /console/webhooks/:id/disable":                     {few: true, scene: newEndpoint},
	"POST /console/webhooks/:id/rotate":                      {body: "old=keep", status: http.StatusOK},
	"POST /console/webhooks/:id/recover":                     {body: "since=1h", few: true, settles: true},
	"POST /console/webhooks/:id/delete":                      {few: true, scene: newEndpoint},
	"POST /console/webhooks/:id/test":                        {body: "event_type=video.completed", status: http.StatusOK, few: true},
	"POST /console/webhooks/:id/deliveries/:delivery/resend": {few: true, settles: true},

	"POST /console/billing/topups": {body: "amount=own&own=10", status: http.StatusOK, few: true},
	"POST /console/billing/auto":   {body: "enabled=false"},
	"POST /console/billing/low":    {body: "threshold=2"},
	"POST /console/billing/limit":  {body: "limit=900&period=month"},
	"POST /console/views":          {body: "page=usage&name={fresh}&query=by%3Dkey"},
	"POST /console/views/rename":   {body: "page=usage&view=none&name={fresh}"},
	"POST /console/views/delete":   {body: "page=usage&view=none"},
	"POST /console/billing/promo":  {body: "code=bad", status: http.StatusUnprocessableEntity},
	"POST /console/billing/portal": {status: http.StatusOK},

	"POST /console/settings/members/leave":                  {few: true, scene: guest},
	"POST /console/settings/members/invitations":            {body: "email={fresh}@example.com&role=billing", few: true, known: []string{"role"}},
	"POST /console/settings/members/invitations/:id/resend": {few: true, scene: invited},
	"POST /console/settings/members/invitations/:id/revoke": {few: true, scene: invited},
	"POST /console/settings/members/:id/role":               {body: "role=billing", few: true, known: []string{"role"}, scene: justJoined},
	"POST /console/settings/members/:id/remove":             {few: true, scene: justJoined},
	"POST /console/invitations/accept":                      {body: "token={token}", few: true, scene: asked},
	"POST /console/invitations/decline":                     {body: "token={token}", few: true, scene: asked},
	"POST /console/settings/account":                        {body: "name={fresh}", few: true},
	"POST /console/settings/account/content":                {body: "keep=asked&days=7"},
	"POST /console/settings/account/content/delete":         {few: true},
	"POST /console/requests/:id/content/delete":             {status: http.StatusNotFound, few: true},
	"POST /console/settings/account/delete":                 {body: "name={name}&password=correct+horse+battery+staple", few: true, scene: closing},

	"POST /console/operator/pause":  {body: "kind=model&id=" + harness.CheapModel, status: http.StatusNotFound, few: true},
	"POST /console/operator/resume": {body: "kind=model&id=" + harness.CheapModel, status: http.StatusNotFound, few: true},

	"POST /console/operator/accounts/:id/limits":                   {body: "factor=9&" + passwordField, status: http.StatusNotFound, few: true},
	"POST /console/operator/accounts/:id/refund":                   {body: refundBody, status: http.StatusNotFound, few: true},
	"POST /console/operator/accounts/:id/people/:user/reset-link":  {body: passwordField, status: http.StatusNotFound, few: true},
	"POST /console/operator/accounts/:id/people/:user/disable-mfa": {body: passwordField, status: http.StatusNotFound, few: true},
	"POST /console/operator/accounts/:id/people/:user/operator":    {body: passwordField, status: http.StatusNotFound, few: true},
	"POST /console/operator/queues/:queue/jobs/:job/retry":         {body: retryBody, status: http.StatusNotFound, few: true},
	"POST /console/operator/accounts/:id/add":                      {body: adjustmentBody, status: http.StatusNotFound, few: true},
	"POST /console/operator/accounts/:id/take":                     {body: adjustmentBody, status: http.StatusNotFound, few: true},
	"POST /console/operator/accounts/:id/freeze":                   {body: adjustmentBody, status: http.StatusNotFound, few: true},
	"POST /console/operator/accounts/:id/unfreeze":                 {body: adjustmentBody, status: http.StatusNotFound, few: true},
	"POST /console/operator/credentials": {
		body: "name=mine&value=a-credential-of-mine", status: http.StatusNotFound, few: true,
	},
	"POST /console/operator/credentials/:name/delete": {status: http.StatusNotFound, few: true},

	"POST /console/operator/model/edit":     {body: "id=" + harness.CheapModel + "&step=do&version=1&current_password=mine", status: http.StatusNotFound, few: true},
	"POST /console/operator/model/prices":   {body: "id=" + harness.CheapModel + "&step=do&version=1&current_password=mine", status: http.StatusNotFound, few: true},
	"POST /console/operator/model/withdraw": {body: "id=" + harness.CheapModel + "&step=do&version=1&current_password=mine", status: http.StatusNotFound, few: true},
	"POST /console/operator/model/retire":   {body: "id=" + harness.CheapModel + "&step=do&version=1&current_password=mine", status: http.StatusNotFound, few: true},
	"POST /console/operator/model/routes":   {body: "id=" + harness.CheapModel + "&step=do&version=1&current_password=mine", status: http.StatusNotFound, few: true},
	"POST /console/operator/model/route":    {body: "id=" + harness.CheapModel + "&step=do&version=1&current_password=mine", status: http.StatusNotFound, few: true},
	"POST /console/operator/model/remove":   {body: "id=" + harness.CheapModel + "&step=do&version=1&current_password=mine", status: http.StatusNotFound, few: true},
	"POST /console/operator/providers/new/:preset": {
		body: "id=mine&secret_key=a-credential-of-mine", status: http.StatusNotFound, few: true,
	},
	"POST /console/operator/providers/:id/test":        {body: "model_messages=mine", status: http.StatusNotFound, few: true},
	"POST /console/operator/providers/:id/test/cancel": {status: http.StatusNotFound, few: true},
	"POST /console/operator/providers/:id/models":      {body: "do=select", status: http.StatusNotFound, few: true},
	"POST /console/operator/providers/:id/publish":     {body: "version=1&current_password=mine", status: http.StatusNotFound, few: true},

	"POST /console/operator/providers/:id/edit":       {body: "step=do&version=1&current_password=mine", status: http.StatusNotFound, few: true},
	"POST /console/operator/providers/:id/credential": {body: "step=do&version=1&current_password=mine", status: http.StatusNotFound, few: true},
	"POST /console/operator/providers/:id/on":         {body: "step=do&version=1&current_password=mine", status: http.StatusNotFound, few: true},
	"POST /console/operator/providers/:id/delete":     {body: "step=do&version=1&current_password=mine", status: http.StatusNotFound, few: true},
	"POST /console/operator/providers/:id/preset":     {body: "step=do&version=1&current_password=mine", status: http.StatusNotFound, few: true},

	"POST /console/operator/trials/codes":           {body: codeBody, status: http.StatusNotFound, few: true},
	"POST /console/operator/trials/codes/:code/end": {body: passwordField, status: http.StatusNotFound, few: true},

	"POST /console/settings/notifications":             {body: "mail=webhook&console=webhook"},
	"POST /console/settings/name":                      {body: "name={fresh}"},
	"POST /console/settings/email":                     {body: passwordField + "&email={fresh}@example.com", few: true, scene: signedUp},
	"POST /console/settings/videos":                    {body: "video_ask_above=7"},
	"POST /console/settings/times":                     {body: "time_zone=UTC&clock=12"},
	"POST /console/requests/columns":                   {body: "show=cost"},
	"POST /console/settings/password":                  {body: passwordField + "&password=another+horse+battery+staple", few: true, scene: signedUp},
	"POST /console/settings/security/codes":            {body: passwordField, few: true, scene: signedUp},
	"POST /console/settings/security/codes/confirm":    {body: "code={code}", status: http.StatusOK, few: true, scene: enrolling},
	"POST /console/settings/security/codes/off":        {body: passwordField + "&code={code}", few: true, scene: enrolled},
	"POST /console/settings/security/recovery":         {body: passwordField, status: http.StatusOK, few: true, scene: enrolled},
	"POST /console/settings/security/sessions/end":     {few: true, scene: twicePlaced},
	"POST /console/settings/security/sessions/:id/end": {few: true, scene: twicePlaced},
}

const nativeHi = `{"model":"` + harness.CheapModel + `","contents":[{"role":"user","parts":[{"text":"hi"}]}]}`

// messagesHi is for a model that answers in that style.
const messagesHi = `{"model":"quillon/folio-swift","messages":[{"role":"user","content":"hi"}],"max_tokens":5}`

// keyMembers are those of a key that its maker chooses.
var keyMembers = []string{"scopes", "expires_at"}
