package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestAPIEveryPromiseOfAContractIsTaken draws bodies from the contract of every text model in every style that it answers in, with
// each value and each edge that a member may have: whatever the published schema allows is taken by the route.
func TestAPIEveryPromiseOfAContractIsTaken(t *testing.T) {
	t.Parallel()
	c := start(t, "--token-interval", "0s").newCustomer(t, "promises")
	c.setLimits(t, 10_000)
	c.setAvailable(t, 1_000_000_000_000_000)
	models := c.listedModels(t)
	for id, styles := range models {
		document := c.call(t, http.MethodGet, "/v1/model/openapi.json?model="+id, "")
		for _, style := range styles {
			p, text := protocols[style]
			if !text {
				continue
			}
			t.Run(id+" "+style, func(t *testing.T) {
				schema, _ := requestSchemaOf(t, document.body, style)
				d := drawing{document: object(t, document.body)}
				promised := 0
				var broken []string
				for _, body := range d.bodies(t, p.path) {
					value, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					if schema.Validate(value) != nil {
						continue
					}
					promised++
					a := p.send(t, c, body)
					if a.status != http.StatusOK && !strings.Contains(a.body, "The upstream provider refused") {
						broken = append(broken, fmt.Sprintf("%d %.300s\nof %.300s", a.status, a.body, body))
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
