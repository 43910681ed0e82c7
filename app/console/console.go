// Package console is the person's face: pages and forms under /console, one file a page. It knows HTTP, cookies and
// which service answers a page; it fills view models and renders them. It does not know how anything is stored,
// priced or drawn.
package console

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"umg/app"
	"umg/app/account"
	"umg/app/admission"
	"umg/app/apikey"
	"umg/app/arrival"
	"umg/app/asset"
	"umg/app/audit"
	"umg/app/catalog"
	"umg/app/contentlog"
	"umg/app/gateway"
	"umg/app/idempotency"
	"umg/app/mail"
	"umg/app/notice"
	"umg/app/operator"
	"umg/app/prompt"
	"umg/app/provider/health"
	"umg/app/pulse"
	"umg/app/ratelimit"
	"umg/app/saved"
	"umg/app/video"
	"umg/app/webhook"
	"umg/billing"
	"umg/billing/stripe"
	"umg/billing/usage"
)

// Options are the services behind the pages, and what the pages say about the server.
type Options struct {
	Accounts  *account.Service
	APIKeys   *apikey.Service
	Sessions  *account.SessionStore
	Ledger    *billing.Ledger
	Reports   *usage.Reports
	Catalog   *catalog.Catalog
	Gateway   *gateway.Gateway
	Videos    *video.Service
	Audit     *audit.Log
	Webhooks  *webhook.Service
	Assets    *asset.Service              // nil: the pages about assets are unknown
	Prompts   *prompt.Service             // nil: the pages about saved prompts are unknown
	Repeats   *idempotency.Service        // nil: a form that is sent twice makes its videos twice; needs IDs
	Operators *operator.Service           // nil: the operators' pages about accounts are unknown
	Health    *health.Monitor             // nil: operators see no provider health
	Pulse     *pulse.Log                  // nil: operators see no traffic of the last hour
	Arrivals  *arrival.Log                // nil: users see no calls that were refused before authentication
	Outbox    *mail.Service               // mails of a demo without a mail server; nil: the outbox page is unknown
	Booked    func(context.Context) error // waits until charges show in the balance; nil: they always do
	Payments  *stripe.Service             // nil: credit cannot be bought
	Content   *contentlog.Service         // nil: no content of calls is stored
	Notices   *notice.Service             // nil: there are no notices
	Saved     *saved.Service              // nil: filters are not saved
	IDs       app.IDs                     // required with Payments
	Now       app.Clock
	BaseURL   string // scheme and host of the server

	MetricsURL string                  // address of this replica's raw metrics, for operators
	Settling   func() SettlementStatus // state of this replica's settlements, for operators; nil: unknown
	Mail       *mail.Service           // the mail queue that operators see; nil: unknown
	Trial      account.TrialPolicy
	Secure     bool // cookies of preferences get the Secure attribute

	Gate      *admission.Controller // nil: this replica never sheds load
	Addresses *ratelimit.Addresses  // counts the requests of visitors; nil: they have no limit
	// OperatorsNeedNoCode lets operators without a second step of signing in reach their pages. It is for demos.
	OperatorsNeedNoCode bool
}

// Console serves the pages.
type Console struct {
	o       Options
	lives   *eventStreams
	readers *sharedReaders
	notes   *noteShelf
}

// New returns the console. It panics when a service is missing, which is a mistake in the wiring.
func New(o Options) *Console {
	if o.Accounts == nil || o.APIKeys == nil || o.Sessions == nil || o.Ledger == nil || o.Reports == nil || o.Catalog == nil ||
		o.Gateway == nil || o.Now == nil || o.BaseURL == "" {
		panic("console: an option is missing")
	}
	if o.Payments != nil && (o.IDs.Now == nil || o.IDs.Random == nil) {
		panic("console: payments need identifiers")
	}
	return &Console{o: o, lives: newLives(), notes: newNoteShelf(), readers: newSharedReaders()}
}

// Route is one page or form. Open ones take visitors; all others lead visitors to the sign-in page.
type Route struct {
	Method string
	Path   string // path below /console
	Open   bool
	Right  app.Rights // right that the reader's role needs; zero for every member

	Operator bool // only operators may open the page; for other users it is unknown

	serve func(*Console, *page) error
}

// Routes is the whole face, so that tests can walk it. Every GET also answers HEAD.
func Routes() []Route {
	return slices.Concat([]Route{
		{Method: http.MethodGet, Path: "/sign-up", Open: true, serve: (*Console).signUpPage},
		{Method: http.MethodPost, Path: "/sign-up", Open: true, serve: (*Console).signUp},
		{Method: http.MethodGet, Path: "/sign-in", Open: true, serve: (*Console).signInPage},
		{Method: http.MethodPost, Path: "/sign-in", Open: true, serve: (*Console).signIn},
		{Method: http.MethodPost, Path: "/sign-out", Open: true, serve: (*Console).signOut},
		{Method: http.MethodPost, Path: "/theme", Open: true, serve: (*Console).setTheme},
		{Method: http.MethodGet, Path: "/playground", Right: app.CallText, serve: (*Console).playground},
		{Method: http.MethodPost, Path: "/playground", Right: app.CallText, serve: (*Console).play},
		{Method: http.MethodPost, Path: "/playground/settings", Right: app.CallText, serve: (*Console).playSettings},
		{Method: http.MethodPost, Path: "/playground/code", Right: app.CallText, serve: (*Console).playCode},
		{Method: http.MethodPost, Path: "/playground/estimate", Right: app.CallText, serve: (*Console).playEstimate},
		{Method: http.MethodGet, Path: "/playground/calls/:id", Right: app.CallText, serve: (*Console).playCall},
		{Method: http.MethodGet, Path: "/playground/video", Right: app.MakeVideos, serve: (*Console).videoPlay},
		{Method: http.MethodPost, Path: "/playground/video", Right: app.MakeVideos, serve: (*Console).videoMake},
		{Method: http.MethodGet, Path: "/videos", Right: app.UseVideos, serve: (*Console).videos},
		{Method: http.MethodPost, Path: "/videos/delete", Right: app.UseVideos, serve: (*Console).deleteVideos},
		{Method: http.MethodGet, Path: "/videos/:id", Right: app.UseVideos, serve: (*Console).video},
		{Method: http.MethodGet, Path: "/videos/:id/progress", Right: app.UseVideos, serve: (*Console).videoProgress},
		{Method: http.MethodGet, Path: "/videos/:id/content", Right: app.UseVideos, serve: (*Console).videoContent},
		{Method: http.MethodGet, Path: "/videos/:id/code", Right: app.UseVideos, serve: (*Console).videoCode},
		{Method: http.MethodGet, Path: "/videos/:id/delete", Right: app.UseVideos, serve: (*Console).askDeleteVideo},
		{Method: http.MethodPost, Path: "/videos/:id/delete", Right: app.UseVideos, serve: (*Console).deleteVideo},
		{Method: http.MethodPost, Path: "/videos/:id/remix", Right: app.MakeVideos, serve: (*Console).remixVideo},
	}, overviewRoutes(), recipeRoutes(), limitRoutes(),
		modelRoutes(), keyRoutes(), webhookRoutes(), assetRoutes(), billingRoutes(), spendLimitRoutes(), savedRoutes(),
		usageRoutes(), verifyRoutes(), outboxRoutes(),
		accountRoutes(),
		signInRoutes(), profileRoutes(), securityRoutes(), auditRoutes(), memberRoutes(),
		accountSettingsRoutes(), operatorRoutes(), operatorAccountRoutes(),
		paletteRoutes(), noticeRoutes(), docsRoutes(), promptRoutes(), contentRoutes())
}

// Mount adds the pages to the group at /console.
func (c *Console) Mount(g *echo.Group) {
	for _, r := range Routes() {
		g.Add(r.Method, r.Path, c.handle(r))
		if r.Method == http.MethodGet {
			g.Add(http.MethodHead, r.Path, c.handle(r))
		}
	}
	unknown := c.handle(Route{Open: true, serve: func(*Console, *page) error { return notFound(nil) }})
	g.RouteNotFound("", unknown)
	g.RouteNotFound("/*", unknown)
}

func notFound(echo.Context) error {
	return app.Errorf(app.NotFound, "not_found", "There is no such page.")
}

// FormBytesMax bounds the bodies of pages that take files, by path.
func FormBytesMax() map[string]int64 {
	return map[string]int64{
		consolePath + "/playground/video": 24 << 20, promptsPath: promptFormBytesMax, promptsPath + "/import": promptFormBytesMax,
	}
}
