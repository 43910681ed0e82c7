// Package console serves the pages and forms under /console, one file for each page. A handler asks the services in Options, fills
// view models and renders them with package views.
package console

import (
	"context"
	"net/http"
	"slices"

	"umg/app"
	"umg/app/account"
	"umg/app/admission"
	"umg/app/apidocs"
	"umg/app/apikey"
	"umg/app/asset"
	"umg/app/audit"
	"umg/app/catalog"
	"umg/app/console/notices"
	"umg/app/console/operator"
	"umg/app/console/page"
	"umg/app/console/playground"
	"umg/app/contentlog"
	"umg/app/gateway"
	"umg/app/idempotency"
	"umg/app/mail"
	"umg/app/modelstatus"
	"umg/app/notification"
	"umg/app/prompt"
	"umg/app/provider/health"
	"umg/app/ratelimit"
	"umg/app/refusal"
	"umg/app/setup"
	"umg/app/traffic"
	"umg/app/trial"
	"umg/app/video"
	"umg/app/webhook"
	"umg/billing"
	"umg/billing/stripe"
	"umg/billing/usage"
)

// Options are the services behind the pages, and what the pages say about the server. New panics without the required ones.
type Options struct {
	PeopleServices
	TextServices
	JobServices
	BillingServices

	Operator operator.Sources // Operator are the services that only operators see.
	Setup    *setup.Service   // Setup takes an empty gateway into operation. If it is nil, the set-up pages do not exist.
	Outbox   *mail.Service    // Outbox has the mails of a demo without a mail server. If it is nil, the outbox page does not exist.
	Now      app.Clock
	BaseURL  string                // BaseURL is the scheme and host of the server.
	Gate     *admission.Controller // Gate sheds load. If it is nil, this replica never sheds load.
	// Addresses counts the requests of visitors. If it is nil, visitors have no limit.
	Addresses *ratelimit.Addresses
	// Secure gives cookies of preferences the Secure attribute.
	Secure bool
	// Simulated says that the server began with simulated providers, as a demo does.
	Simulated bool
	// OperatorsNeedNoCode lets operators without a second step of signing in reach their pages. It is for demos.
	OperatorsNeedNoCode bool
}

// PeopleServices are the services of users and their accounts.
type PeopleServices struct {
	Accounts      *account.Service
	APIKeys       *apikey.Service
	Sessions      *account.SessionStore
	Audit         *audit.Log
	Trial         trial.Policy
	Notifications *notification.Service // Notifications is nil where there are no notices.
}

// TextServices are the services of calls to text models.
type TextServices struct {
	Catalog     *catalog.Catalog
	Gateway     *gateway.Gateway
	Documents   *apidocs.Documents   // Documents is nil for documents without a base URL and without examples of errors.
	Status      *modelstatus.Service // Status judges models. A service that reads the statistics for each page is made when it is nil.
	Health      *health.Monitor      // Health is nil where operators see no provider health.
	RecentCalls *traffic.RecentCalls // RecentCalls is nil where users see no calls that were rejected before authentication.
	Content     *contentlog.Service  // Content is nil where no content of calls is stored.
	Prompts     *prompt.Service      // Prompts is nil where the pages about saved prompts do not exist.
	Refusals    *refusal.Log         // Refusals is nil where refused calls of the playground are not recorded.
}

// JobServices are the services of videos, of what videos are made from, and of the events about them.
type JobServices struct {
	Videos   *video.Service
	Webhooks *webhook.Service
	Assets   *asset.Service       // Assets is nil where the pages about assets do not exist.
	Repeats  *idempotency.Service // Repeats makes the videos of a form once, however often the form is sent. It needs IDs.
}

// BillingServices are the services of credit.
type BillingServices struct {
	Ledger   *billing.Ledger
	Reports  *usage.Reports
	Payments *stripe.Service             // Payments is nil where credit cannot be bought.
	IDs      app.IDs                     // IDs is required with Payments.
	Booked   func(context.Context) error // Booked waits until charges show in the balance. If it is nil, they always do.
}

// Console serves the pages.
type Console struct {
	*page.Renderer

	operator   *operator.Console
	playground *playground.Console
	o          Options
	readers    *sharedReaders
	notices    *notices.Service
}

// New returns the console. It panics when a required option is missing, which is a mistake in the wiring.
func New(o Options) *Console {
	app.RequireOptions("console.New", map[string]bool{
		"Options.Accounts": o.Accounts != nil, "Options.APIKeys": o.APIKeys != nil, "Options.Sessions": o.Sessions != nil,
		"Options.Ledger":  o.Ledger != nil,
		"Options.Reports": o.Reports != nil,
		"Options.Catalog": o.Catalog != nil, "Options.Gateway": o.Gateway != nil, "Options.Now": o.Now != nil,
		"Options.BaseURL": o.BaseURL != "",
	})
	if o.Payments != nil && (o.IDs.Now == nil || o.IDs.Random == nil) {
		panic("console.New: Options.IDs is required with Options.Payments")
	}
	if o.Documents == nil {
		o.Documents = apidocs.New(apidocs.Options{Now: o.Now})
	}
	if o.Status == nil {
		o.Status = modelstatus.New(modelstatus.Options{Now: o.Now, Health: o.Health, Stats: o.Reports.RecentModels})
	}
	c := &Console{o: o, readers: &sharedReaders{count: map[string]int{}}}
	c.notices = notices.New(notices.Options{
		Accounts: o.Accounts, APIKeys: o.APIKeys, Ledger: o.Ledger, Reports: o.Reports, Catalog: o.Catalog, Status: o.Status, Health: o.Health,
		Payments: o.Payments, Webhooks: o.Webhooks, Videos: o.Videos, Notifications: o.Notifications, Now: o.Now,
	})
	c.Renderer = page.New(page.Options{
		Accounts: o.Accounts, Sessions: o.Sessions, Ledger: o.Ledger, Now: o.Now, BaseURL: o.BaseURL, Secure: o.Secure, Booked: o.Booked,
		OperatorsNeedNoCode: o.OperatorsNeedNoCode, Notices: c.notices,
	})
	c.playground = playground.New(c.Renderer, playground.Options{
		Catalog: o.Catalog, Gateway: o.Gateway, Reports: o.Reports, Prompts: o.Prompts, Content: o.Content, Now: o.Now,
		Generate: c.generateKept, KeyHint: c.keyHint, ViewModels: c.pickedModels,
	})
	c.operator = operator.New(c.Renderer, operator.Options{
		Sources: o.Operator, Accounts: o.Accounts, Ledger: o.Ledger, Reports: o.Reports, Catalog: o.Catalog, Health: o.Health,
		Status: o.Status, Videos: o.Videos, Webhooks: o.Webhooks, Assets: o.Assets, Content: o.Content, Now: o.Now,
		Payments: o.Payments,
	})
	return c
}

// Routes returns the routes of all pages and forms, so that tests can visit them. Every GET also answers HEAD. The handlers
// need the routes of New and must not be called.
func Routes() []page.Route {
	return (&Console{operator: &operator.Console{}, playground: &playground.Console{}}).routes()
}

func (c *Console) routes() []page.Route {
	return slices.Concat([]page.Route{
		{Method: http.MethodGet, Path: "/sign-up", Open: true, Serve: c.signUpPage},
		{Method: http.MethodPost, Path: "/sign-up", Open: true, Serve: c.signUp},
		{Method: http.MethodGet, Path: "/sign-in", Open: true, Serve: c.signInPage},
		{Method: http.MethodPost, Path: "/sign-in", Open: true, Serve: c.signIn},
		{Method: http.MethodPost, Path: "/sign-out", Open: true, Serve: c.signOut},
		{Method: http.MethodPost, Path: "/theme", Open: true, Serve: c.SetTheme},
		{Method: http.MethodGet, Path: "/playground/video", Right: app.MakeVideos, Serve: c.videoPlay},
		{Method: http.MethodPost, Path: "/playground/video", Right: app.MakeVideos, Serve: c.videoMake},
		{Method: http.MethodGet, Path: "/videos", Right: app.UseVideos, Serve: c.videos},
		{Method: http.MethodPost, Path: "/videos/delete", Right: app.UseVideos, Serve: c.deleteVideos},
		{Method: http.MethodGet, Path: "/videos/:id", Right: app.UseVideos, Serve: c.video},
		{Method: http.MethodGet, Path: "/videos/:id/progress", Right: app.UseVideos, Serve: c.videoProgress},
		{Method: http.MethodGet, Path: "/videos/:id/content", Right: app.UseVideos, Serve: c.videoContent},
		{Method: http.MethodGet, Path: "/videos/:id/code", Right: app.UseVideos, Serve: c.videoCode},
		{Method: http.MethodGet, Path: "/videos/:id/delete", Right: app.UseVideos, Serve: c.askDeleteVideo},
		{Method: http.MethodPost, Path: "/videos/:id/delete", Right: app.UseVideos, Serve: c.deleteVideo},
		{Method: http.MethodPost, Path: "/videos/:id/remix", Right: app.MakeVideos, Serve: c.remixVideo},
	}, c.overviewRoutes(), c.recipeRoutes(), c.limitRoutes(),
		c.modelRoutes(), c.keyRoutes(), c.webhookRoutes(), c.assetRoutes(), c.billingRoutes(), c.spendLimitRoutes(), c.savedRoutes(),
		c.usageRoutes(), c.verifyRoutes(), c.outboxRoutes(),
		c.accountRoutes(),
		c.signInRoutes(), c.profileRoutes(), c.securityRoutes(), c.auditRoutes(), c.memberRoutes(),
		c.accountSettingsRoutes(), c.operator.Routes(), c.playground.Routes(),
		c.setupRoutes(), c.paletteRoutes(), c.noticeRoutes(), c.docsRoutes(), c.promptRoutes(), c.contentRoutes(), c.runRoutes())
}

// FormBytesMax bounds the bodies of pages that take files, by path.
func FormBytesMax() map[string]int64 {
	return map[string]int64{
		page.ConsolePath + "/playground/video": 24 << 20, promptsPath: promptFormBytesMax, promptsPath + "/import": promptFormBytesMax,
	}
}
