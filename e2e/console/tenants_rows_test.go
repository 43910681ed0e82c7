package console

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"umg/e2e/harness"
)

// lackingRoles are the rights, in the words of `gateway routes`, that a role does not have.
var lackingRoles = map[string][]string{
	"admin":     {"own the account"},
	"developer": {"manage members", "manage billing", "manage the account", "own the account"},
	"billing": {"call text models", "make videos", "use videos", "use assets", "manage webhooks", "manage keys", "manage members",
		"manage the account", "read kept content", "own the account"},
}

// lackingScopes are the scopes of a key that lacks each right.
var lackingScopes = map[string]string{
	"call text models": "usage:read", "make videos": "usage:read", "use videos": "usage:read", "use assets": "usage:read",
	"read models": "usage:read", "read usage": "models:read", "manage webhooks": "usage:read",
	"manage keys": standardScopes, "manage members": standardScopes, "manage billing": standardScopes, "manage the account": standardScopes,
}

const standardScopes = "inference:text,inference:video,videos,assets,models:read,usage:read,webhooks"

const (
	remixBody      = `{"model":"meridian/reel","prompt":"again","remix_video_id":"{video}"}`
	chatBody       = `{"model":"` + harness.CheapModel + `","messages":[{"role":"user","content":"hi"}],"max_tokens":5}`
	nameBody       = `{"name":"stolen"}`
	codeBody       = "code=FORMYSELF&amount=100&times=9&until=2099-01-01&days=0&reason=mine"
	adjustmentBody = "amount=5&reason=mine&step=do&once=adj_01kb4a7k2f8s4j6h1d9a3g5b7t&" + passwordField
)

// intrusions say what to put into each route that there is.
var intrusions = map[string]intrusion{
	"POST /v1/chat/completions":          {body: chatBody},
	"POST /v1/messages":                  {body: chatBody},
	"POST /v1/messages/count_tokens":     {body: chatBody},
	"POST /v1/responses":                 {body: `{"model":"` + harness.CheapModel + `","input":"hi"}`},
	"POST /v1/responses/input_tokens":    {body: `{"model":"` + harness.CheapModel + `","input":"hi"}`},
	"POST /vendorc/native":               {body: `{"model":"` + harness.CheapModel + `","contents":[{"role":"user","parts":[{"text":"hi"}]}]}`},
	"POST /vendorc/native/count_tokens":  {body: `{"model":"` + harness.CheapModel + `","contents":[{"role":"user","parts":[{"text":"hi"}]}]}`},
	"GET /v1/models":                     {},
	"GET /v1/model/openapi.json":         {query: "model={model}", public: true},
	"GET /v1/model/api.md":               {query: "model={model}", public: true},
	"GET /v1/models/*":                   {public: true},
	"GET /v1beta/models":                 {},
	"GET /v1beta/models/*":               {public: true},
	"POST /v1/videos":                    {body: remixBody},
	"GET /v1/videos":                     {},
	"GET /v1/videos/:id":                 {},
	"DELETE /v1/videos/:id":              {},
	"POST /v1/videos/:id/remix":          {body: `{"prompt":"again"}`},
	"GET /v1/videos/:id/content":         {},
	"GET /v1/videos/":                    {},
	"DELETE /v1/videos/":                 {},
	"POST /v1/videos/edits":              {body: `{}`},
	"POST /v1/videos/extensions":         {body: `{}`},
	"POST /v1/videos/characters":         {body: `{}`},
	"POST /v1/vendora/videos":            {body: remixBody},
	"GET /v1/vendora/videos":             {query: "after={video}", public: true},
	"GET /v1/vendora/videos/:id":         {},
	"DELETE /v1/vendora/videos/:id":      {},
	"POST /v1/vendora/videos/:id/remix":  {body: `{"prompt":"again"}`},
	"GET /v1/vendora/videos/:id/content": {query: "variant=thumbnail"},
	"GET /v1/vendora/videos/":            {},
	"DELETE /v1/vendora/videos/":         {},
	"POST /v1/vendora/videos/edits":      {body: `{}`},
	"POST /v1/vendora/videos/extensions": {body: `{}`},
	"POST /v1/vendora/videos/characters": {body: `{}`},
	"POST /videos":                       {body: `{"model":"kestrel/swift","prompt":"with another's asset","asset_ids":["{asset}"]}`},
	"GET /videos":                        {},
	"GET /videos/:id":                    {},
	"DELETE /videos/:id":                 {},
	"POST /videos/:id/remix":             {body: `{"prompt":"again"}`},
	"GET /videos/:id/content":            {query: "variant=spritesheet"},
	"GET /videos/":                       {},
	"DELETE /videos/":                    {},
	"POST /videos/edits":                 {body: `{}`},
	"POST /videos/extensions":            {body: `{}`},
	"POST /videos/characters":            {body: `{}`},
	"POST /callbacks/videos/:token":      {body: `{"id":"{video}"}`, public: true}, // The answer is empty for every body.

	"POST /v1/files/vendorx/assets":        {body: `{"asset_type":"image","url":"https://example.com/a.png"}`},
	"POST /v1/files/vendorx/assets/get":    {body: `{"asset_id":"{asset}"}`},
	"POST /v1/files/vendorx/assets/list":   {body: `{}`},
	"POST /v1/files/vendorx/assets/delete": {body: `{"asset_id":"{asset}"}`},

	"GET /v1/webhook_endpoints":                                  {query: "after={endpoint}", public: true},
	"POST /v1/webhook_endpoints":                                 {body: `{"name":"n","url":"https://example.com/","event_types":["video.completed"]}`},
	"GET /v1/webhook_endpoints/:id":                              {},
	"POST /v1/webhook_endpoints/:id":                             {body: nameBody},
	"DELETE /v1/webhook_endpoints/:id":                           {},
	"POST /v1/webhook_endpoints/:id/rotate_secret":               {body: `{}`},
	"POST /v1/webhook_endpoints/:id/test":                        {body: `{"event_type":"video.completed"}`},
	"POST /v1/webhook_endpoints/:id/recover":                     {body: `{"since":1}`},
	"GET /v1/webhook_endpoints/:id/deliveries":                   {},
	"GET /v1/webhook_endpoints/:id/deliveries/:delivery":         {},
	"POST /v1/webhook_endpoints/:id/deliveries/:delivery/resend": {body: `{}`},
	"GET /v1/top_ups":                                            {},
	"POST /v1/top_ups":                                           {body: `{"amount":"25"}`},
	"GET /v1/top_ups/:id":                                        {},
	"GET /v1/auto_top_up":                                        {},
	"POST /v1/auto_top_up":                                       {body: `{"enabled":true}`},
	"GET /v1/content":                                            {},
	"POST /v1/content":                                           {body: `{"keep":"all"}`},
	"DELETE /v1/content":                                         {},
	"GET /v1/spend_limit":                                        {},
	"POST /v1/spend_limit":                                       {body: `{"limit":"900","period":"month"}`},
	"GET /v1/low_balance_alert":                                  {},
	"POST /v1/low_balance_alert":                                 {body: `{"threshold":"1"}`},
	"POST /v1/billing_portal":                                    {body: `{}`},
	"GET /v1/audit_log":                                          {query: "object={key}&actor={member}", public: true},
	"GET /v1/keys":                                               {query: "after={key}", public: true},
	"POST /v1/keys":                                              {body: nameBody},
	"GET /v1/keys/:id":                                           {},
	"POST /v1/keys/:id":                                          {body: nameBody},
	"PATCH /v1/keys/:id":                                         {body: nameBody},
	"DELETE /v1/keys/:id":                                        {},
	"POST /v1/keys/:id/rotate":                                   {body: `{"overlap_seconds":3600}`},
	"POST /v1/keys/:id/disable":                                  {body: `{}`},
	"POST /v1/keys/:id/enable":                                   {body: `{}`},
	"GET /v1/members":                                            {},
	"POST /v1/members/:id":                                       {body: `{"role":"owner"}`},
	"DELETE /v1/members/:id":                                     {},
	"GET /v1/invitations":                                        {},
	"POST /v1/invitations":                                       {body: `{"email":"x@example.com","role":"admin"}`},
	"DELETE /v1/invitations/:id":                                 {},
	"POST /v1/invitations/:id/resend":                            {body: `{}`},
	"GET /v1/account":                                            {},
	"POST /v1/account":                                           {body: nameBody},
	"GET /v1/account/export":                                     {},
	"GET /v1/webhook_event_types":                                {},
	"GET /v1/webhook_events":                                     {},
	"POST /webhooks/payments":                                    {body: `{"id":"evt_1","data":{"object":{"id":"{topup}"}}}`},
	"POST /webhooks/key_leaks":                                   {body: `[{"token":"sk-umg-wrong","type":"t","url":"u","source":"s"}]`, public: true},
	"GET /v1/generation":                                         {query: "id={request}"},
	"GET /v1/credits":                                            {},
	"GET /v1/key":                                                {},
	"GET /v1/usage":                                              {},
	"GET /console/sign-up":                                       {},
	"POST /console/sign-up":                                      {},
	"GET /console/sign-in":                                       {},
	"POST /console/sign-in":                                      {},
	"POST /console/sign-out":                                     {},
	"POST /console/theme":                                        {},
	"GET /console/search":                                        {query: "q=key"},
	"GET /console/shortcuts":                                     {},
	"POST /console/shortcuts":                                    {body: "keys=off"},
	"GET /console/notifications":                                 {},
	"POST /console/notifications/read":                           {body: "id=mine"},
	"GET /console/settings/notifications":                        {},
	"POST /console/settings/notifications":                       {body: "console=webhook"},
	"GET /console":                                               {},
	"GET /console/first-request":                                 {},
	"POST /console/onboarding":                                   {},
	"POST /console/onboarding/send":                              {},
	"GET /console/overview/requests":                             {},
	"GET /console/recipes":                                       {},
	"GET /console/recipes/:tool":                                 {public: true},
	"POST /console/recipes/:tool/key":                            {public: true},
	"GET /console/recipes/:tool/calls":                           {public: true},
	"GET /console/limits":                                        {},
	"POST /console/limits":                                       {body: "times=2&reason=more"},
	"GET /console/operator/limits":                               {},
	"POST /console/operator/limits/:id":                          {body: "state=done"},
	"GET /console/models":                                        {},
	"GET /console/models/*":                                      {public: true},
	"GET /console/docs":                                          {},
	"GET /console/docs/:page":                                    {public: true},
	"GET /console/compare":                                       {query: "m={model}"},
	"GET /console/model/price":                                   {query: "model={model}", public: true},
	"GET /console/model/limits":                                  {query: "model={model}", public: true},
	"GET /console/model/last":                                    {query: "model={model}", public: true},
	"GET /console/model/api.md":                                  {query: "model={model}", public: true},
	"GET /console/model/openapi.json":                            {query: "model={model}", public: true},
	"GET /console/playground":                                    {},
	"POST /console/playground":                                   {body: "model=" + harness.CheapModel + "&text=hi"},
	"POST /console/playground/settings":                          {body: "model=" + harness.CheapModel},
	"POST /console/playground/code":                              {body: "model=" + harness.CheapModel + "&text=hi"},
	"POST /console/playground/estimate":                          {body: "model=" + harness.CheapModel + "&prompt=hi"},
	"GET /console/playground/calls/:id":                          {public: true}, // It shows running calls of the reader's own session.
	"GET /console/playground/video":                              {query: "remix={video}", public: true},
	"POST /console/playground/video":                             {body: "model=meridian/reel&prompt=hi"},
	"GET /console/prompts":                                       {},
	"POST /console/prompts":                                      {body: "prompt_id={prompt}&prompt_version=1&model=" + harness.CheapModel + "&prompt=taken"},
	"GET /console/prompts/import":                                {},
	"POST /console/prompts/import":                               {},
	"GET /console/prompts/:id":                                   {},
	"GET /console/prompts/:id/export":                            {},
	"GET /console/prompts/:id/diff":                              {query: "from=1&to=2"},
	"POST /console/prompts/:id/restore":                          {body: "version=1"},
	"POST /console/prompts/:id/duplicate":                        {},
	"GET /console/prompts/:id/rename":                            {},
	"POST /console/prompts/:id/rename":                           {body: "name=stolen"},
	"GET /console/prompts/:id/delete":                            {},
	"POST /console/prompts/:id/delete":                           {},
	"GET /console/prompts/:id/share":                             {},
	"POST /console/prompts/:id/share":                            {body: "version=1&end=7"},
	"POST /console/prompts/:id/shares/:share/revoke":             {},
	"GET /console/shared/:token":                                 {public: true}, // A reader needs the token only.
	"GET /console/shared/:token/copy":                            {public: true},
	"POST /console/shared/:token/copy":                           {body: "name=mine", public: true},
	"GET /console/videos":                                        {},
	"POST /console/videos/delete":                                {body: "id={video}"},
	"GET /console/videos/:id":                                    {},
	"GET /console/videos/:id/progress":                           {},
	"GET /console/videos/:id/content":                            {},
	"GET /console/videos/:id/code":                               {},
	"GET /console/videos/:id/delete":                             {},
	"POST /console/videos/:id/delete":                            {},
	"POST /console/videos/:id/remix":                             {body: "prompt=again"},
	"GET /console/keys":                                          {},
	"POST /console/keys":                                         {body: "name=stolen&mode=documented"},
	"GET /console/keys/new":                                      {},
	"POST /console/keys/:id/disable":                             {},
	"POST /console/keys/:id/enable":                              {},
	"GET /console/keys/:id/delete":                               {},
	"POST /console/keys/:id/delete":                              {body: "name=main"},
	"GET /console/keys/:id":                                      {},
	"POST /console/keys/:id":                                     {body: "name=stolen"},
	"GET /console/keys/:id/rotate":                               {},
	"POST /console/keys/:id/rotate":                              {body: "overlap=3600"},
	"GET /console/keys/:id/end-old":                              {},
	"POST /console/keys/:id/end-old":                             {},
	"GET /console/assets":                                        {},
	"POST /console/assets":                                       {body: "type=image&url=https://example.com/a.png"},
	"GET /console/assets/new":                                    {},
	"POST /console/assets/delete":                                {body: "id={asset}"},
	"GET /console/assets/:id":                                    {},
	"GET /console/assets/:id/preview":                            {},
	"GET /console/assets/:id/delete":                             {},
	"POST /console/assets/:id/delete":                            {},
	"GET /console/account/new":                                   {},
	"POST /console/account/new":                                  {body: "name=mine"},
	"POST /console/account/switch":                               {body: "account={account}"},
	"GET /console/sign-in/code":                                  {},
	"POST /console/sign-in/code":                                 {},
	"GET /console/forgot":                                        {},
	"POST /console/forgot":                                       {},
	"GET /console/reset":                                         {},
	"POST /console/reset":                                        {},
	"GET /console/email":                                         {},
	"POST /console/email":                                        {},
	"GET /console/settings":                                      {},
	"POST /console/settings/name":                                {body: "name=mine"},
	"POST /console/settings/email":                               {body: "email=x@example.com&password=wrong"},
	"POST /console/settings/videos":                              {body: "video_ask_above=7"},
	"POST /console/settings/password":                            {body: "password=wrong&new=also wrong"},
	"GET /console/settings/security":                             {},
	"GET /console/settings/security/codes":                       {},
	"POST /console/settings/security/codes":                      {},
	"POST /console/settings/security/codes/confirm":              {body: "code=000000"},
	"GET /console/settings/security/codes/off":                   {},
	"POST /console/settings/security/codes/off":                  {body: "password=wrong"},
	"GET /console/settings/security/recovery":                    {},
	"POST /console/settings/security/recovery":                   {body: "password=wrong"},
	"POST /console/settings/security/sessions/end":               {},
	"POST /console/settings/security/sessions/:id/end":           {},
	"GET /console/settings/audit":                                {},
	"GET /console/settings/audit.csv":                            {},
	"GET /v1/members/:id":                                        {},
	"GET /v1/invitations/:id":                                    {},
	"GET /console/settings/members/leave":                        {},
	"POST /console/settings/members/leave":                       {},
	"POST /console/settings/members/invitations":                 {body: "email=x@example.com&role=admin"},
	"POST /console/settings/members/invitations/:id/resend":      {},
	"POST /console/settings/members/invitations/:id/revoke":      {},
	"POST /console/settings/members/:id/role":                    {body: "role=owner"},
	"GET /console/settings/members/:id/remove":                   {},
	"POST /console/settings/members/:id/remove":                  {},
	"GET /console/invitations":                                   {},
	"POST /console/invitations/accept":                           {body: "token=x"},
	"POST /console/invitations/decline":                          {body: "token=x"},
	"POST /console/settings/account":                             {body: "name=stolen"},
	"GET /console/settings/account/export":                       {},
	"GET /console/settings/account/delete":                       {},
	"POST /console/settings/account/delete":                      {body: "name=x&password=y"},
	"POST /console/settings/account/content":                     {body: "keep=all&days=90"},
	"GET /console/settings/account/content/delete":               {},
	"POST /console/settings/account/content/delete":              {},
	"GET /console/requests/:id/content/delete":                   {},
	"POST /console/requests/:id/content/delete":                  {},
	"GET /console/settings/members":                              {},
	"GET /console/settings/account":                              {},
	"GET /console/webhooks":                                      {},
	"POST /console/webhooks":                                     {body: "url=https://example.com/&events=video.completed"},
	"GET /console/webhooks/new":                                  {},
	"GET /console/webhooks/events":                               {},
	"GET /console/webhooks/:id":                                  {},
	"GET /console/webhooks/:id/edit":                             {},
	"POST /console/webhooks/:id/edit":                            {body: "name=stolen"},
	"POST /console/webhooks/:id/enable":                          {},
	"POST /console/webhooks/:id/disable":                         {},
	"GET /console/webhooks/:id/rotate":                           {},
	"POST /console/webhooks/:id/rotate":                          {body: "old=keep"},
	"GET /console/webhooks/:id/recover":                          {},
	"POST /console/webhooks/:id/recover":                         {body: "since=1"},
	"GET /console/webhooks/:id/delete":                           {},
	"POST /console/webhooks/:id/delete":                          {},
	"POST /console/webhooks/:id/test":                            {body: "type=video.completed"},
	"GET /console/webhooks/:id/deliveries/:delivery":             {},
	"POST /console/webhooks/:id/deliveries/:delivery/resend":     {},
	"GET /console/billing":                                       {},
	"GET /console/billing/ledger":                                {},
	"GET /console/billing/ledger.csv":                            {},
	"GET /console/billing/ledger.json":                           {},
	"GET /console/billing/rules":                                 {},
	"POST /console/billing/topups":                               {body: "amount=own&own=10"},
	"POST /console/billing/auto":                                 {body: "enabled=on"},
	"POST /console/billing/low":                                  {body: "threshold=1"},
	"POST /console/billing/limit":                                {body: "limit=900&period=month"},
	"POST /console/billing/promo":                                {body: "code=bad"},
	"POST /console/views":                                        {body: "page=usage&name=stolen&query=by=key"},
	"POST /console/views/rename":                                 {body: "page=usage&view={view}&name=stolen"},
	"POST /console/views/delete":                                 {body: "page=usage&view={view}"},
	"POST /console/billing/portal":                               {},
	"GET /console/billing/topups/:id":                            {},
	"GET /console/billing/topups/:id/progress":                   {},
	"GET /console/usage":                                         {},
	"GET /console/usage.csv":                                     {},
	"GET /console/usage.json":                                    {},
	"GET /console/requests":                                      {},
	"GET /console/requests.csv":                                  {},
	"GET /console/requests.json":                                 {},
	"GET /console/requests/live":                                 {query: "last=nowhere"},
	"GET /console/requests/:id":                                  {},
	"GET /console/verify":                                        {},
	"POST /console/verify":                                       {},
	"POST /console/verify/resend":                                {},
	"POST /console/verify/trial":                                 {},
	"GET /console/operator":                                      {},
	"GET /console/operator/pause":                                {query: "kind=model&id={model}"},
	"POST /console/operator/pause":                               {body: "kind=model&id={model}&reason=mine"},
	"GET /console/operator/resume":                               {query: "kind=model&id={model}"},
	"POST /console/operator/resume":                              {body: "kind=model&id={model}"},
	"GET /console/operator/metrics":                              {},
	"GET /console/operator/margin":                               {query: "provider=meridian"},
	"GET /console/operator/margin.csv":                           {},
	"GET /console/operator/catalog":                              {},
	"GET /console/operator/catalog/:version":                     {},
	"GET /console/operator/catalog/:version/catalog.yaml":        {},
	"GET /console/operator/help":                                 {query: "q=database"},
	"GET /console/operator/help/:page":                           {},
	"GET /console/operator/queues":                               {},
	"GET /console/operator/queues/live":                          {},
	"GET /console/operator/credentials":                          {},
	"POST /console/operator/credentials":                         {body: "name=mine&value=a-credential-of-mine"},
	"GET /console/operator/credentials/new":                      {query: "name=mine"},
	"GET /console/operator/credentials/:name/delete":             {},
	"POST /console/operator/credentials/:name/delete":            {},
	"GET /console/operator/models":                               {query: "q=atlas"},
	"GET /console/operator/models/*":                             {},
	"GET /console/operator/model/edit":                           {query: "id={model}"},
	"GET /console/operator/model/prices":                         {query: "id={model}"},
	"GET /console/operator/model/withdraw":                       {query: "id={model}"},
	"GET /console/operator/model/retire":                         {query: "id={model}"},
	"GET /console/operator/model/route":                          {query: "id={model}"},
	"GET /console/operator/model/remove":                         {query: "id={model}"},
	"POST /console/operator/model/edit":                          {body: "id={model}&step=do"},
	"POST /console/operator/model/prices":                        {body: "id={model}&step=do"},
	"POST /console/operator/model/withdraw":                      {body: "id={model}&step=do"},
	"POST /console/operator/model/retire":                        {body: "id={model}&step=do"},
	"POST /console/operator/model/route":                         {body: "id={model}&step=do"},
	"POST /console/operator/model/remove":                        {body: "id={model}&step=do"},
	"POST /console/operator/model/routes":                        {body: "id={model}&step=do"},
	"GET /console/operator/providers":                            {},
	"GET /console/operator/providers/new":                        {query: "q=anthropic"},
	"GET /console/operator/providers/new/:preset":                {},
	"POST /console/operator/providers/new/:preset":               {body: "id=mine&secret_key=a-credential-of-mine"},
	"GET /console/operator/providers/:id/test":                   {},
	"POST /console/operator/providers/:id/test":                  {body: "model_messages=mine"},
	"POST /console/operator/providers/:id/test/cancel":           {},
	"GET /console/operator/providers/:id/models":                 {},
	"POST /console/operator/providers/:id/models":                {body: "markup=10%25&do=select"},
	"GET /console/operator/providers/:id/publish":                {},
	"POST /console/operator/providers/:id/publish":               {body: "version=1&current_password=mine"},
	"GET /console/operator/providers/:id":                        {},
	"GET /console/operator/providers/:id/edit":                   {},
	"GET /console/operator/providers/:id/credential":             {},
	"GET /console/operator/providers/:id/on":                     {},
	"GET /console/operator/providers/:id/delete":                 {},
	"POST /console/operator/providers/:id/edit":                  {body: "step=do"},
	"POST /console/operator/providers/:id/credential":            {body: "step=do"},
	"POST /console/operator/providers/:id/on":                    {body: "step=do"},
	"POST /console/operator/providers/:id/delete":                {body: "step=do"},
	"POST /console/operator/providers/:id/preset":                {body: "step=do"},
	"GET /console/operator/trials":                               {query: "made=FORMYSELF"},
	"POST /console/operator/trials/codes":                        {body: codeBody},
	"GET /console/operator/trials/codes/new":                     {},
	"GET /console/operator/trials/codes/:code/end":               {},
	"POST /console/operator/trials/codes/:code/end":              {},
	"GET /console/operator/accounts":                             {query: "q={account}"},
	"GET /console/operator/accounts/:id":                         {},
	"GET /console/operator/accounts/:id/add":                     {},
	"POST /console/operator/accounts/:id/add":                    {body: adjustmentBody},
	"GET /console/operator/accounts/:id/take":                    {},
	"POST /console/operator/accounts/:id/take":                   {body: adjustmentBody},
	"GET /console/operator/accounts/:id/freeze":                  {},
	"POST /console/operator/accounts/:id/freeze":                 {body: adjustmentBody},
	"GET /console/operator/accounts/:id/unfreeze":                {},
	"POST /console/operator/accounts/:id/unfreeze":               {body: adjustmentBody},
	"GET /console/outbox":                                        {},
	"GET /console/outbox/:id":                                    {},
}

// newTenants makes the account, its objects, its neighbours and the keys that are worth nothing.
func newTenants(t *testing.T, g *harness.Gateway) *tenants {
	t.Helper()
	owner := harness.NewVideoCustomer(t, g, "owner")
	m := &tenants{
		g: g, owner: owner, routes: harness.Routes(t), stranger: g.NewCustomer(t, "stranger"), visitor: harness.NewConsoleClient(t, g),
		keys: map[string]string{}, narrow: map[string]string{}, members: map[string]*harness.ConsoleClient{},
	}
	m.signedIn, m.foreign = owner.SignInToConsole(t), m.stranger.SignInToConsole(t)
	m.stranger.SetLimits(t, 1000)
	m.things = map[string]string{"model": harness.CheapModel, "account": owner.AccountID}
	m.makeThings(t)
	m.makePrompt(t)
	m.things["share"] = m.newestShare(t)
	m.makeUpstreamIDs(t)
	m.makeView(t)
	m.revokeShare(t)
	m.makeKeys(t)
	for role := range lackingRoles {
		m.members[role] = m.member(t, role)
	}
	return m
}

// makeThings gives the account something of everything that has an id.
func (m *tenants) makeThings(t *testing.T) {
	t.Helper()
	r := harness.NewWebhookReceiver(t)
	hook := m.owner.AddWebhook(t, r)
	film := m.owner.CompleteVideo(t, harness.VideoBody("meridian/reel", "a lighthouse"))
	m.things["endpoint"], m.things["video"] = hook.ID, harness.TextMember(film, "id")
	r.WaitForEvent(t, "video.completed", m.things["video"])
	call := m.owner.Call(t, http.MethodPost, "/v1/chat/completions", chatBody)
	m.things["request"] = call.Header.Get("X-Request-Id")
	m.owner.UsageRecord(t, m.things["request"])
	m.things["topup"] = m.owner.StartTopUp(t, m.signedIn, "25").ID
	m.things["asset"] = m.owner.PermanentAsset(t)
	invited := url.Values{"email": {fmt.Sprintf("guest-%d@example.com", time.Now().UnixNano())}, "role": {"developer"}}
	if a := m.signedIn.Visit(t, "/console/settings/members/invitations", invited); a.Status != http.StatusSeeOther {
		t.Fatalf("invite: %d %s", a.Status, a.Body)
	}
	db := m.g.DB(t)
	for kind, query := range map[string]string{
		"delivery":   `select d.id from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id where e.account_id = $1 limit 1`,
		"key":        `select id from api_keys where account_id = $1 limit 1`,
		"member":     `select user_id from memberships where account_id = $1 limit 1`,
		"session":    `select s.id from sessions s join memberships m on m.user_id = s.user_id where m.account_id = $1 limit 1`,
		"invitation": `select id from invitations where account_id = $1 limit 1`,
		"mail":       `select x.id from mails x join users u on u.email = x.recipient join memberships m on m.user_id = u.id where m.account_id = $1 limit 1`,
	} {
		var id string
		if err := db.Get(&id, query, m.owner.AccountID); err != nil {
			t.Fatalf("the account has no %s: %v", kind, err)
		}
		m.things[kind] = id
	}
}

// newestShare is the link to a prompt that was made last.
func (m *tenants) newestShare(t *testing.T) (id string) {
	t.Helper()
	if err := m.g.DB(t).Get(&id, `select id from prompt_shares where account_id = $1 order by id desc limit 1`, m.owner.AccountID); err != nil {
		t.Fatal(err)
	}
	return id
}

// makeKeys makes keys that are worth nothing, and for each right one that lacks it. The database tells the gateway of each
// change, which a key that has changed shows by being refused.
func (m *tenants) makeKeys(t *testing.T) {
	t.Helper()
	db := m.g.DB(t)
	change := func(name, set string, args ...any) string {
		secret := m.signedIn.CreateKey(t, name)
		db.MustExec(`update api_keys set `+set+` where account_id = $1 and name = $2`, append([]any{m.owner.AccountID, name}, args...)...)
		return secret
	}
	m.ownerManages = change("manages", "scopes = string_to_array($3, ',')", "management")
	m.strangerManages = m.foreign.CreateKey(t, "manages")
	db.MustExec(`update api_keys set scopes = string_to_array($2, ',') where account_id = $1 and name = 'manages'`, m.stranger.AccountID,
		"management")
	m.keys["expired"] = change("expired", "expires_at = now() - interval '1 hour'")
	m.keys["disabled"] = change("disabled", "disabled_at = now()")
	m.keys["deleted"] = change("deleted", "deleted_at = now()")
	for rights, scopes := range lackingScopes {
		m.narrow[rights] = change("lacks "+rights, "scopes = string_to_array($3, ',')", scopes)
	}
	for deadline := time.Now().Add(harness.CallTimeMax); ; time.Sleep(10 * time.Millisecond) {
		late := ""
		for what, secret := range m.keys {
			if a := m.g.Call(t, http.MethodGet, "/v1/key", "", harness.BearerHeader(secret)...); a.Status != http.StatusUnauthorized {
				late = what
			}
		}
		if late == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a key that is %s is still good", late)
		}
	}
}

// member is a person with a restricted role in the account, who works in it.
func (m *tenants) member(t *testing.T, role string) *harness.ConsoleClient {
	t.Helper()
	c, p := m.g.SignUp(t, role)
	db := m.g.DB(t)
	db.MustExec(`insert into memberships (account_id, user_id, role, created_at)
		select $1, id, $3, now() from users where email = $2`, m.owner.AccountID, c.Email, role)
	a := p.Visit(t, "/console/account/switch", url.Values{"account": {m.owner.AccountID}})
	if a.Status != http.StatusSeeOther {
		t.Fatalf("change to the other account: %d %s", a.Status, a.Body)
	}
	return p
}
