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
}

// Run prints the routes.
func (c *routesCommand) Run() error {
	var rows []routeRow
	for _, r := range api.Routes() {
		rows = append(rows, routeRow{"api", r.Method, r.Path, r.Open, r.Right.String()})
	}
	for _, r := range console.Routes() {
		rows = append(rows, routeRow{"console", r.Method, "/console" + r.Path, r.Open, r.Right.String()})
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
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Face, r.Method, r.Path, needs)
	}
	return w.Flush()
}
