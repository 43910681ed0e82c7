package api

import (
	"net/http"

	"umg/app/gateway"
	"umg/app/llm"
)

// countTokens answers how many input tokens a request has, in the words of its style. It is an extension of the
// service document, and costs nothing.
func (a *API) countTokens(x *call) error {
	body, err := a.readBody(x)
	if err != nil {
		return err
	}
	defer body.Release()
	request, err := x.withPathModel(body.Bytes())
	if err != nil {
		return err
	}
	count, err := a.o.Gateway.CountTokens(x.Request().Context(), x.textCall(request))
	gateway.SetLimitHeaders(x.Header(), count.Requests, count.TokensLeft)
	if err != nil {
		return err
	}
	x.setDroppedHeader(count.Dropped)
	if count.Estimated {
		x.Header().Set("X-Gateway-Estimated", "true")
	}
	extendWrite(x.Connection(), a.now())
	switch x.route.Style {
	case llm.Native:
		return x.JSON(http.StatusOK, map[string]int64{"totalTokens": count.Tokens})
	case llm.Responses:
		return x.JSON(http.StatusOK, map[string]any{"object": "response.input_tokens", "input_tokens": count.Tokens})
	default:
		return x.JSON(http.StatusOK, map[string]int64{"input_tokens": count.Tokens})
	}
}

// textCall returns the call of a text route as the gateway takes it.
func (x *call) textCall(body []byte) gateway.Call {
	return gateway.Call{
		ID:          x.log.RequestID,
		Principal:   x.principal(),
		Style:       x.route.Style,
		Body:        body,
		Headers:     x.Request().Header,
		Key:         x.keyLimits(),
		Slot:        x.slot(),
		Strict:      x.key.Strict,
		LimitFactor: x.key.LimitFactor,
		Timing:      &x.log.timing,
	}
}
