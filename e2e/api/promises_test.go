package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"umg/e2e/harness"
)

// TestAPIEveryPromiseOfAContractIsTaken draws bodies from the contract of every text model in every style that it answers in, with
// each value and each edge that a member may have: whatever the published schema allows is taken by the route.
func TestAPIEveryPromiseOfAContractIsTaken(t *testing.T) {
	t.Parallel()
	c := harness.StartDemo(t, "--token-interval", "0s").NewCustomer(t, "promises")
	c.SetLimits(t, 10_000)
	c.SetAvailable(t, 1_000_000_000_000_000)
	models := listedModels(t, c)
	for id, styles := range models {
		document := c.Call(t, http.MethodGet, "/v1/model/openapi.json?model="+id, "")
		for _, style := range styles {
			p, text := harness.Styles[style]
			if !text {
				continue
			}
			t.Run(id+" "+style, func(t *testing.T) {
				schema, _ := requestSchemaOf(t, document.Body, style)
				d := harness.SchemaBodies{Document: harness.DecodeObject(t, document.Body)}
				promised := 0
				var broken []string
				for _, body := range d.ForPath(t, p.Path) {
					value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					if schema.Validate(value) != nil {
						continue
					}
					promised++
					a := p.Send(t, c, body)
					if a.Status != http.StatusOK && !strings.Contains(a.Body, "The upstream provider refused") {
						broken = append(broken, fmt.Sprintf("%d %.300s\nof %.300s", a.Status, a.Body, body))
					}
				}
				if promised < 20 {
					t.Errorf("only %d bodies are promised", promised)
				}
				slices.Sort(broken)
				for _, one := range slices.CompactFunc(broken, func(a, b string) bool { return a[:min(len(a), 120)] == b[:min(len(b), 120)] }) {
					t.Error(one)
				}
			})
		}
	}
}
