package api

import (
	"fmt"
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"umg/e2e/harness"
)

// boundRow is a row of a guide's table that bounds a number.
var boundRow = regexp.MustCompile("(?m)^\\| `(\\w+)`(?: or `(\\w+)`)? \\| (?:integer|number) \\| at least (-?\\d+)(?:, at most (\\d+))? \\|")

// guidesAreEnforced reads the bounds of numbers in the guide of every model, and sends each bound and what is beyond it.
func guidesAreEnforced(t *testing.T, k *checklist) {
	k.SetAvailable(t, 2_000_000_000_000)
	for id, styles := range protocolsOf(t, k.Customer) {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			guide := k.Call(t, http.MethodGet, "/v1/model/api.md?model="+id, "").Body
			for _, style := range styles {
				p := harness.Styles[style]
				_, section, _ := strings.Cut(guide, "### Fields of a request: "+style+"\n")
				section, _, _ = strings.Cut(section, "\n### ")
				form := `%q:%s`
				if style == "native" {
					_, section, _ = strings.Cut(section, "#### `generation_config`\n")
					form = `"generationConfig":{%q:%s}`
				}
				section, _, _ = strings.Cut(section, "\n#### ")
				rows := boundRow.FindAllStringSubmatch(section, -1)
				if len(rows) < 1 {
					t.Errorf("the guide bounds nothing in the style %s: %.600s", style, section)
				}
				for _, row := range rows {
					k.boundHolds(t, p, id, form, row)
				}
			}
		})
	}
}

func (k *checklist) boundHolds(t *testing.T, p harness.Style, id, form string, row []string) {
	t.Helper()
	for i, bound := range row[3:] {
		if bound == "" {
			continue
		}
		n, _ := new(big.Int).SetString(bound, 10)
		beyond := new(big.Int).Add(n, big.NewInt(int64(2*i-1)))
		for _, name := range row[1:3] {
			if name == "" {
				continue
			}
			body := func(value *big.Int) string { return p.Request(id, "echo: x", fmt.Sprintf(form, name, value)) }
			param := name
			if p.Name == "native" {
				param = "generationConfig." + name
			}
			p.CheckError(t, p.Send(t, k.Customer, body(beyond)), "invalid", p.InvalidCode(), param)
			if strings.Contains(name, "logprobs") {
				// The gateway refuses this member without the one that switches it on.
				continue
			}
			if a := p.Send(t, k.Customer, body(n)); a.Status != http.StatusOK && p.ReadError(t, a).Code != "unsupported_parameter" {
				t.Errorf("%s takes no %s for %s: %d %s", p.Name, n, name, a.Status, a.Body)
			}
		}
	}
}
