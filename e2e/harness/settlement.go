package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jmoiron/sqlx"
	"gopkg.in/yaml.v3"
)

// checkSettlementReasons returns an error when the usage records of a gateway have a reason that billing/settlement.yaml does not
// list as recorded. RunTests calls it at the end, when all tests of the package have made their calls.
func (g *Gateway) checkSettlementReasons() error {
	text, err := os.ReadFile("../../billing/settlement.yaml")
	if err != nil {
		return err
	}
	var rules []struct {
		Reason   string
		Recorded bool
	}
	if err := yaml.Unmarshal(text, &rules); err != nil {
		return err
	}
	recorded := map[string]bool{}
	for _, r := range rules {
		recorded[r.Reason] = r.Recorded
	}
	address, err := os.ReadFile(filepath.Join(g.Dir, "data", "database.url"))
	if err != nil {
		return err
	}
	db, err := sqlx.Connect("postgres", strings.TrimSpace(string(address)))
	if err != nil {
		return err
	}
	defer db.Close()
	var reasons []string
	if err := db.Select(&reasons, `select distinct reason from usage_records`); err != nil {
		return err
	}
	for _, reason := range reasons {
		if !recorded[reason] {
			return fmt.Errorf("usage records have the reason %s, which billing/settlement.yaml does not list as recorded", reason)
		}
	}
	return nil
}
