package api

import (
	"net/http"
	"slices"
	"strings"

	"umg/app"
	"umg/app/gateway"
	"umg/app/llm"
)

const countSuffix = ".count" // This suffix marks operations that count tokens.

// Route is one operation of the API.
type Route struct {
	Method string
	Path   string // Path has the syntax of Echo: the last segment may be *.
	Family ErrorFormat
	Style  llm.Style // Style is empty except for text routes.
	// Open routes take callers without a key: a token in their path that cannot be guessed, or a signature, authenticates the caller.
	Open bool
	// Right is what the key must be allowed to do; zero for what every key of an account may.
	Right app.Rights
	// Operation is what aliases in the catalog call the route. It is empty where an alias may not name the route.
	Operation string
	work      gateway.Work // Work applies to changes; dry runs and reads have their own classes.
	serve     func(*API, *call) error
}

// Routes lists all routes, so that tests and documents can read them. All but the open ones require a key, and every GET also answers
// HEAD.
func Routes() []Route {
	return slices.Concat([]Route{
		text("/v1/chat/completions", ChatFamily, llm.Chat, "chat", (*API).generate),
		text("/v1/messages", MessagesFamily, llm.Messages, "messages", (*API).generate),
		text("/v1/messages/count_tokens", MessagesFamily, llm.Messages, "messages.count", (*API).countTokens),
		text("/v1/responses", OpenAIFamily, llm.Responses, "responses", (*API).generate),
		text("/v1/responses/input_tokens", OpenAIFamily, llm.Responses, "responses.count", (*API).countTokens),
		text("/vendorc/native", NativeFamily, llm.Native, "native", (*API).generate),
		text("/vendorc/native/count_tokens", NativeFamily, llm.Native, "native.count", (*API).countTokens),
		{Method: http.MethodGet, Path: "/v1/models", Right: app.ReadModels, Family: OpenAIFamily, serve: (*API).listModels},
		{Method: http.MethodGet, Path: "/v1/model/openapi.json", Right: app.ReadModels, Family: OpenAIFamily, serve: (*API).getContract},
		{Method: http.MethodGet, Path: "/v1/model/api.md", Right: app.ReadModels, Family: OpenAIFamily, serve: (*API).getGuide},
		{Method: http.MethodGet, Path: "/v1/models/*", Right: app.ReadModels, Family: OpenAIFamily, serve: (*API).getModel},
		{Method: http.MethodGet, Path: "/v1beta/models", Right: app.ReadModels, Family: NativeFamily, serve: (*API).listNative},
		{Method: http.MethodGet, Path: "/v1beta/models/*", Right: app.ReadModels, Family: NativeFamily, serve: (*API).getNative},
	}, videoRoutes(), assetRoutes(), webhookRoutes(), paymentRoutes(), usageRoutes(), billingRoutes(), auditRoutes(),
		spendLimitRoutes(), contentRoutes(), keyRoutes(), memberRoutes(), leakRoutes())
}

func text(path string, family ErrorFormat, style llm.Style, operation string, serve func(*API, *call) error) Route {
	work := gateway.TextWork
	if strings.HasSuffix(operation, countSuffix) {
		work = gateway.CheckWork
	}
	return Route{
		Method: http.MethodPost, Path: path, Right: app.CallText, Family: family, Style: style, Operation: operation, work: work, serve: serve,
	}
}

// group makes the routes of one subject: the right that they need, and whether the service behind them is configured. Their paths are
// unknown where it is not.
type group struct {
	right      app.Rights
	configured func(*Options) bool
}

func (g group) route(method, path string, serve func(*API, *call) error) Route {
	return Route{Method: method, Path: path, Right: g.right, Family: OpenAIFamily, serve: func(a *API, x *call) error {
		if !g.configured(&a.o) {
			return notFound(x.Request().URL.Path)
		}
		return serve(a, x)
	}}
}

func (g group) get(path string, serve func(*API, *call) error) Route {
	return g.route(http.MethodGet, path, serve)
}

func (g group) post(path string, serve func(*API, *call) error) Route {
	return g.route(http.MethodPost, path, serve)
}

func (g group) delete(path string, serve func(*API, *call) error) Route {
	return g.route(http.MethodDelete, path, serve)
}

// Owns reports whether the API answers a path, with a route or with its own error.
func Owns(path string) bool {
	_, ok := familyOf(path)
	return ok
}
