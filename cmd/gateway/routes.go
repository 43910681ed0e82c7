package main

import (
	"encoding/json"
	"fmt"
	"os"
	"text/tabwriter"

	"umg/api"
	"umg/app/console"
)

// routesCommand prints the two faces as tables, for rules of a firewall and for tests that walk them all.
type routesCommand struct {
	JSON bool `help:"Print JSON."`
}

// routeRow is one route of a face.
type routeRow struct {
	Face   string `json:"face"` // api or console
	Method string `json:"method"`
	Path   string `json:"path"`
	Open   bool   `json:"open"`   // without a key or a session
	Rights string `json:"rights"` // what the key's scopes or the member's role must allow; empty for all

	Operator bool `json:"operator,omitempty"` // only for users who run the gateway
}

// Run prints the routes.
func (c *routesCommand) Run() error {
	var rows []routeRow
	for _, r := range api.Routes() {
		rows = append(rows, routeRow{Face: "api", Method: r.Method, Path: r.Path, Open: r.Open, Rights: r.Right.String()})
	}
	for _, r := range console.Routes() {
		rows = append(rows, routeRow{
			Face: "console", Method: r.Method, Path: "/console" + r.Path, Open: r.Open, Rights: r.Right.String(), Operator: r.Operator,
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
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Face, r.Method, r.Path, needs)
	}
	return w.Flush()
}
