package api

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// newExchange is a request without a server.
func newExchange(w http.ResponseWriter, r *http.Request) exchange {
	return echoExchange{echo.New().NewContext(r, w)}
}
