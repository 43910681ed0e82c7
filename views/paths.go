package views

import (
	"net/url"
	"strings"
)

const (
	assetsPath           = "/console/assets"
	auditPath            = settingsPath + "/audit"
	billingPath          = "/console/billing"
	ledgerPath           = billingPath + "/ledger"
	rulesPath            = billingPath + "/rules"
	comparePath          = "/console/compare"
	contentPath          = accountPath + "/content"
	contentClearPath     = contentPath + "/delete"
	keysPath             = "/console/keys"
	limitAnswersPath     = operatorPath + "/limits"
	accountPath          = settingsPath + "/account"
	modelsPath           = "/console/models"
	operatorPath         = "/console/operator"
	metricsPath          = operatorPath + "/metrics"
	operatorAccountsPath = operatorPath + "/accounts"
	trialsPath           = operatorPath + "/trials"
	playgroundPath       = "/console/playground"
	promptsPath          = "/console/prompts"
	recipesPath          = "/console/recipes"
	requestsPath         = "/console/requests"
	limitsPath           = "/console/limits"
	usagePath            = "/console/usage"
	videosPath           = "/console/videos"
	videoPlayPath        = "/console/playground/video"
	webhooksPath         = "/console/webhooks"
)

// RequestContentPath is where the content of a call is deleted.
func requestContentPath(id string) string { return RequestPath(id) + "/content/delete" }

// KeyPath is the address of a key's page.
func KeyPath(id string) string { return keysPath + "/" + url.PathEscape(id) }

// ModelPath is the page of a model.
func ModelPath(id string) string {
	parts := strings.Split(id, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return modelsPath + "/" + strings.Join(parts, "/")
}

// PlaygroundPath is the playground with a model chosen.
func PlaygroundPath(model string) string {
	return playgroundPath + "?" + url.Values{"model": {model}}.Encode()
}

// RequestPath is the address of a call's page.
func RequestPath(id string) string { return requestsPath + "/" + url.PathEscape(id) }
