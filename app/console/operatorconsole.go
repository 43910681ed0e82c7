package console

import (
	"net/http"
	"slices"

	"umg/app"
	"umg/app/account"
	"umg/app/asset"
	"umg/app/catalog"
	"umg/app/console/page"
	"umg/app/contentlog"
	"umg/app/mail"
	"umg/app/operator"
	"umg/app/provider/health"
	"umg/app/traffic"
	"umg/app/video"
	"umg/app/webhook"
	"umg/billing"
)

// OperatorSources are what only operators see or do. All are optional.
type OperatorSources struct {
	Actions      *operator.Service     // Actions on accounts; without them the pages about accounts do not exist.
	MinuteCounts *traffic.MinuteCounts // MinuteCounts are the calls of the last hour; without them the metrics page does not exist.
	MetricsURL   string                // MetricsURL is the address of this replica's raw metrics.
	// Settlements returns the state of this replica's settlements.
	Settlements func() SettlementStatus
	Mail        *mail.Service // Mail is the mail queue.
}

// OperatorOptions are the services behind the pages.
type OperatorOptions struct {
	OperatorSources

	Accounts *account.Service
	Ledger   *billing.Ledger
	Catalog  *catalog.Catalog
	Health   *health.Monitor // Health is nil where operators see no provider health.
	Videos   *video.Service
	Webhooks *webhook.Service
	Assets   *asset.Service
	Content  *contentlog.Service
	Now      app.Clock
}

// operatorConsole serves the pages of operators.
type operatorConsole struct {
	*page.Renderer

	o OperatorOptions
}

// newOperatorConsole returns the pages of operators.
func newOperatorConsole(r *page.Renderer, o OperatorOptions) *operatorConsole {
	return &operatorConsole{Renderer: r, o: o}
}

// Routes returns the routes of all pages for operators.
func (c *operatorConsole) Routes() []page.Route {
	return slices.Concat(c.operatorRoutes(), c.operatorAccountRoutes(), []page.Route{
		{Method: http.MethodGet, Path: "/operator/limits", Operator: true, Serve: c.limitAnswers},
		{Method: http.MethodPost, Path: "/operator/limits/:id", Operator: true, Serve: c.answerLimits},
	})
}
