// Package operator serves the console's pages for operators: traffic and pauses, metrics, margins, queues, accounts, trial codes, limit
// requests and the history of the catalog. The console adds the routes of Console to its own and admits only operators to them.
package operator

import (
	"context"
	"net/http"
	"slices"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/account"
	"umg/app/asset"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/contentlog"
	"umg/app/mail"
	"umg/app/modelstatus"
	"umg/app/operator"
	"umg/app/provider"
	"umg/app/provider/check"
	"umg/app/provider/credentialstore"
	"umg/app/provider/health"
	"umg/app/provider/selection"
	"umg/app/provider/spend"
	"umg/app/traffic"
	"umg/app/video"
	"umg/app/webhook"
	"umg/billing"
	"umg/billing/stripe"
	"umg/billing/usage"
)

// Sources are the services that no other page of the console needs. All are optional.
type Sources struct {
	Actions      *operator.Service       // Actions changes accounts. Without it the pages about accounts do not exist.
	MinuteCounts *traffic.MinuteCounts   // MinuteCounts counts the calls of the last hour. Without it the metrics page does not exist.
	MetricsURL   string                  // MetricsURL is the address of this replica's raw metrics.
	Settlements  func() SettlementStatus // Settlements returns the state of this replica's settlements.
	Mail         *mail.Service           // Mail is the e-mail queue.
	Credentials  *credentialstore.Store  // Credentials are the sealed credentials. Without it their pages do not exist.
	TestCalls    *check.Store            // TestCalls has what tests of providers cost. Without it the margin page does not show that.
	Spend        *spend.Tracker          // Spend knows how far the spend caps of providers are used up.
	// DB is the database with the catalog, for the pages that change providers and models. Without it these pages do not exist.
	DB *sqlx.DB
	// References finds the values of credentials, for tests of providers.
	References func(context.Context) (catalog.Sources, error)
	// ProviderClient makes the calls of tests, and Tests runs them. Without them there are no pages that test.
	ProviderClient *provider.Client
	Tests          *check.Runs
}

// Options are the services behind the pages.
type Options struct {
	Sources

	Accounts *account.Service
	Ledger   *billing.Ledger
	Reports  *usage.Reports
	Catalog  *catalog.Catalog
	Status   *modelstatus.Service
	Health   *health.Monitor // Health is nil where operators see no provider health.
	Videos   *video.Service
	Webhooks *webhook.Service
	Assets   *asset.Service
	Content  *contentlog.Service
	Payments *stripe.Service // Payments is nil where credit cannot be bought.
	Now      app.Clock
}

// Console serves the pages of operators.
type Console struct {
	*page.Renderer

	o Options
	// selections is nil without a database.
	selections *selection.Store
	choices    choiceCache
}

// New returns the pages of operators.
func New(r *page.Renderer, o Options) *Console {
	c := &Console{Renderer: r, o: o}
	if o.DB != nil {
		c.selections = selection.New(o.DB, o.Now)
	}
	return c
}

// Routes returns the routes of all pages for operators.
func (c *Console) Routes() []page.Route {
	return slices.Concat(c.pageRoutes(), c.accountRoutes(), c.accountActionRoutes(), c.jobRoutes(),
		c.credentialRoutes(), c.providerRoutes(), c.oneProviderRoutes(), c.modelRoutes(),
		[]page.Route{
			{Method: http.MethodGet, Path: "/operator/limits", Operator: true, Serve: c.limitAnswers},
			{Method: http.MethodGet, Path: "/operator/limits/:id", Operator: true, Serve: c.askAnswer},
			{Method: http.MethodPost, Path: "/operator/limits/:id", Operator: true, Serve: c.answerLimits},
		})
}
