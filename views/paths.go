package views

import (
	"net/url"
	"strings"
)

// Several areas lead to the pages of these addresses.
const (
	AssetsPath           = "/console/assets"
	AuditPath            = SettingsPath + "/audit"
	BillingPath          = "/console/billing"
	LedgerPath           = BillingPath + "/ledger"
	RulesPath            = BillingPath + "/rules"
	ComparePath          = "/console/compare"
	ContentPath          = AccountPath + "/content"
	ContentClearPath     = ContentPath + "/delete"
	KeysPath             = "/console/keys"
	LimitAnswersPath     = OperatorPath + "/limits"
	AccountPath          = SettingsPath + "/account"
	ModelsPath           = "/console/models"
	OperatorPath         = "/console/operator"
	MetricsPath          = OperatorPath + "/metrics"
	OperatorAccountsPath = OperatorPath + "/accounts"
	MarginPath           = OperatorPath + "/margin"
	CredentialsPath      = OperatorPath + "/credentials"
	ProvidersPath        = OperatorPath + "/providers"
	NewProviderPath      = ProvidersPath + "/new"
	OperatorModelsPath   = OperatorPath + "/models"
	TrialsPath           = OperatorPath + "/trials"
	QueuesPath           = OperatorPath + "/queues"
	CatalogHistoryPath   = OperatorPath + "/catalog"
	OperatorHelpPath     = OperatorPath + "/help"
	PlaygroundPath       = "/console/playground"
	PromptsPath          = "/console/prompts"
	RecipesPath          = "/console/recipes"
	RequestsPath         = "/console/requests"
	LimitsPath           = "/console/limits"
	UsagePath            = "/console/usage"
	VideosPath           = "/console/videos"
	VideoPlayPath        = "/console/playground/video"
	WebhooksPath         = "/console/webhooks"
)

// RequestContentPath is where the content of a call is deleted.
func RequestContentPath(id string) string { return RequestPath(id) + "/content/delete" }

// KeyPath is the address of a key's page.
func KeyPath(id string) string { return KeysPath + "/" + url.PathEscape(id) }

// ModelPath is the page of a model.
func ModelPath(id string) string {
	parts := strings.Split(id, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return ModelsPath + "/" + strings.Join(parts, "/")
}

// ProviderPath is the page of a provider for operators. The parts are further parts of the path, such as test.
func ProviderPath(id string, parts ...string) string {
	return strings.Join(append([]string{ProvidersPath, url.PathEscape(id)}, parts...), "/")
}

// OperatorModelPath is the page of a model for operators. A slash of the id is escaped, so that the id is one part of the path.
func OperatorModelPath(id string) string { return OperatorModelsPath + "/" + url.PathEscape(id) }

// ModelPlaygroundPath is the playground with a model chosen.
func ModelPlaygroundPath(model string) string {
	return PlaygroundPath + "?" + url.Values{"model": {model}}.Encode()
}

// RequestPath is the address of a call's page.
func RequestPath(id string) string { return RequestsPath + "/" + url.PathEscape(id) }
