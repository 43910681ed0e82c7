package main

import (
	"encoding/json"
	"fmt"
	"os"
	"text/tabwriter"

	"umg/api"
	"umg/app/console"
)

// routesCommand prints the routes of the API and the console as tables, for firewall rules and for tests that visit every route.
type routesCommand struct {
	JSON bool `help:"Print JSON."`
}

// routeRow is one route of the API or the console.
type routeRow struct {
	Area   string `json:"area"` // Area is api or console.
	Method string `json:"method"`
	Path   string `json:"path"`
	Open   bool   `json:"open"`   // Open routes need no key or session.
	Rights string `json:"rights"` // Rights are what the key's scopes or the member's role must allow; empty allows all.

	Operator bool `json:"operator,omitempty"` // Operator routes are only for users who run the gateway.
}

// Run prints the routes.
func (c *routesCommand) Run() error {
	var rows []routeRow
	for _, r := range api.Routes() {
		rows = append(rows, routeRow{Area: "api", Method: r.Method, Path: r.Path, Open: r.Open, Rights: r.Right.String()})
	}
	for _, r := range console.Routes() {
		rows = append(rows, routeRow{
			Area: "console", Method: r.Method, Path: "/console" + r.Path, Open: r.Open, Rights: r.Right.String(), Operator: r.Operator,
		})
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(rows)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		needs := r.Rights
		if r.Open {
			needs = "open"
		}
		if r.Operator {
			needs = "operators only"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Area, r.Method, r.Path, needs)
	}
	return w.Flush()
}
