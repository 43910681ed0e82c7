package faults

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"gopkg.in/yaml.v3"
	"umg/e2e/harness"
)

// rule is a row of the settlement table, as the data file has it.
type rule struct {
	Reason    string
	Outcome   string
	Charge    string
	Estimated bool
	Recorded  bool
	When      string
	Text      string
}

func settlementTable(t *testing.T) map[string]rule {
	t.Helper()
	text, err := os.ReadFile("../../billing/settlement.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rows []rule
	if err := yaml.Unmarshal(text, &rows); err != nil {
		t.Fatal(err)
	}
	table := map[string]rule{}
	for _, r := range rows {
		table[r.Reason] = r
	}
	if len(table) != len(rows) || len(rows) < 30 {
		t.Fatalf("%d rows have %d reasons", len(rows), len(table))
	}
	return table
}

// settling is a customer whose calls end in every way, and what the table says of that.
type settling struct {
	harness.Customer

	table map[string]rule
	db    *sqlx.DB
	// These models cost 1 and 2 dollars a million tokens.
	patient, impatient, silent string
	// The upstream of mute accepts connections and sends nothing.
	mute  string
	muted chan struct{}
	// The first provider of recovers cuts every answer, and that of continues makes the whole answer when its client is gone.
	recovers, continues string
}

// inputNanos and outputNanos are the prices of the models, in nano-dollars a token.
const inputNanos, outputNanos = 1000, 2000

// TestSettlementTable brings every row of the settlement table about on the built server, in all styles, and holds what is
// charged, recorded and shown against the row.
func TestSettlementTable(t *testing.T) {
	t.Parallel()
	table, g := settlementTable(t), harness.SharedDemo(t)
	s := &settling{Customer: g.NewCustomer(t, "settling"), table: table, db: g.DB(t), patient: "test/settling", impatient: "test/settling-soon"}
	s.silent, s.recovers, s.continues = "test/settling-silent", "test/settling-recovers", "test/settling-continues"
	s.SetLimits(t, 1000)
	s.SetAvailable(t, 100_000_000_000)
	g.AddModels(t,
		harness.Model{ID: s.patient, UpstreamModel: "sim", Provider: "meridian", Extra: harness.EveryStyle}, harness.Model{ID: s.impatient, UpstreamModel: "sim", Extra: harness.EveryStyle},
		harness.Model{ID: s.recovers, UpstreamModel: "recovers+cut-after=10t+pace=1ms", Provider: "meridian", SecondProvider: "crossroads", Extra: "    on_cut: recover\n" + harness.EveryStyle})
	s.addSilent(t)
	before := s.Balance(t)
	t.Cleanup(func() { s.adds(t, before) })
	for reason := range settlingRows {
		if _, known := table[reason]; !known {
			t.Errorf("there is a case for %s, which has no row", reason)
		}
	}
	for reason := range table {
		t.Run(reason, func(t *testing.T) {
			row, proven := settlingRows[reason]
			if !proven || len(row.calls) == 0 && row.drive == nil && len(row.proofs) == 0 {
				t.Fatal("the row has no case")
			}
			for _, name := range row.proofs {
				if !slices.ContainsFunc(crashes[name], func(c crash) bool { return strings.Contains(" "+c.reasons+" ", " "+reason+" ") }) {
					t.Errorf("the crash point %s does not prove it", name)
				}
			}
			t.Parallel()
			var all sync.WaitGroup
			for _, c := range row.calls {
				for _, p := range harness.AllStyles() {
					for _, form := range []string{streamOnly, jsonOnly} {
						if (c.only == "" || c.only == form) && (c.style == "" || c.style == p.Name) {
							all.Go(func() { s.settles(t, reason, c, p, form == streamOnly) })
						}
					}
				}
			}
			all.Wait()
			if row.drive != nil {
				row.drive(s, t, reason)
			}
		})
	}
}

// settles makes one call and holds its end against the row.
func (s *settling) settles(t *testing.T, reason string, c settlingCase, p harness.Style, stream bool) {
	prompt, members := c.prompt, []string{}
	if c.does != "" {
		prompt = "simulate: " + c.does + "\n" + prompt
	}
	if c.max > 0 {
		members = append(members, p.OutputLimit(c.max))
	}
	if stream {
		members = append(members, `"stream":true`, p.IncludeUsage())
	}
	id := s.patient
	switch {
	case c.impatient:
		id = s.impatient
	case c.silent:
		id = s.silent
	case c.recovers:
		id = s.recovers
	}
	a := p.Send(t, s.Customer, p.Request(id, prompt, members...))
	s.check(t, reason, fmt.Sprintf("%s %q stream %v", p.Name, c.does, stream), a.Header.Get("X-Request-Id"), &a)
}

// settledCall is what the database has about a call.
type settledCall struct {
	Reason    string
	Outcome   string
	Estimated bool
	Model     string
	Input     int64 `db:"input_tokens"`
	Output    int64 `db:"output_tokens"`
	Millis    int64 `db:"milliseconds"`
	Cost      int64 `db:"cost_nanos"`
	Reserved  int64 `db:"reserved_nanos"`
	Overrun   int64 `db:"overrun_nanos"`
}

const settledQuery = `select reason, outcome, estimated, model, coalesce(meters[1], 0) as input_tokens, coalesce(meters[4], 0) as output_tokens,
	coalesce(meters[7], 0) as milliseconds, cost_nanos, reserved_nanos, overrun_nanos from usage_records where request_id = $1`

// check holds the record of a call against the row of the reason that it must have, and against the cost that was shown.
func (s *settling) check(t *testing.T, reason, what, id string, a *harness.Response) {
	t.Helper()
	var r settledCall
	for deadline := time.Now().Add(harness.CallTimeMax); ; time.Sleep(10 * time.Millisecond) {
		err := s.db.Get(&r, settledQuery, id)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Errorf("%s: no record of %q: %v", what, id, err)
			return
		}
	}
	rule := s.table[reason]
	if r.Reason != reason || r.Outcome != rule.Outcome || r.Estimated != rule.Estimated || !rule.Recorded {
		t.Errorf("%s: the record is %+v, the row %s %s estimated %v", what, r, rule.Reason, rule.Outcome, rule.Estimated)
	}
	s.priced(t, what, rule, r)
	if a == nil {
		return
	}
	shown := harness.CostPattern.FindAllStringSubmatch(a.Body, -1)
	for _, one := range shown {
		if cost := harness.Nanos(t, one[1]); cost != r.Cost {
			t.Errorf("%s: %d is shown, %d charged", what, cost, r.Cost)
		}
	}
	if tells := rule.Outcome == "succeeded" || rule.Charge == "delivered"; tells != (len(shown) == 1) && reason != "credit_ran_out" || len(shown) > 1 {
		t.Errorf("%s: %d costs are shown: %d %.1000s", what, len(shown), a.Status, a.Body)
	}
}

// priced holds a charge against the way to charge that the row names.
func (s *settling) priced(t *testing.T, what string, rule rule, r settledCall) {
	t.Helper()
	price := r.Input*inputNanos + r.Output*outputNanos
	right := r.Cost <= r.Reserved
	switch rule.Charge {
	case "nothing":
		right = right && r.Cost == 0 && r.Overrun == 0
	case "usage", "delivered", "received":
		right = right && r.Cost == price && r.Cost > 0 && r.Overrun == 0
	case "reserve":
		right = right && r.Cost == r.Reserved && r.Overrun > 0 && r.Cost+r.Overrun == price
	default:
		right = false
	}
	if !right {
		t.Errorf("%s: charged is %+v, the row says %s", what, r, rule.Charge)
	}
}

// unknown insists that there is no record of a call, and waits for none.
func (s *settling) unknown(t *testing.T, id string) {
	t.Helper()
	var r settledCall
	if err := s.db.Get(&r, settledQuery, id); err == nil || id == "" {
		t.Errorf("the call %q has the record %+v", id, r)
	}
}

// latest waits for a call of the customer with a reason that was not looked at before, whose client never learnt its id.
func (s *settling) latest(t *testing.T, reason, seen string) (id string) {
	t.Helper()
	harness.WaitUntil(t, "a record with "+reason, func() bool {
		err := s.db.Get(&id, `select request_id from usage_records where account_id = $1 and reason = $2 and request_id > $3
			order by request_id limit 1`, s.AccountID, reason, seen)
		return err == nil
	})
	return id
}

// adds insists that the customer's balance has moved by what is charged, and that no record on the server has a reason that
// is not in the table.
func (s *settling) adds(t *testing.T, before harness.Balance) {
	if t.Failed() {
		return
	}
	db := s.DB(t)
	var charged int64
	if err := db.Get(&charged, `select coalesce(sum(cost_nanos), 0)::bigint from usage_records where account_id = $1`, s.AccountID); err != nil {
		t.Fatal(err)
	}
	harness.WaitUntil(t, "nothing is held", func() bool { return s.Balance(t).Held == 0 })
	if after := s.Balance(t); before.Posted-after.Posted != charged {
		t.Errorf("the balance went from %+v to %+v, and %d are charged", before, after, charged)
	}
	for _, g := range harness.RunningSharedDemos() {
		var reasons []string
		if err := g.DB(t).Select(&reasons, `select distinct reason from usage_records`); err != nil {
			t.Fatal(err)
		}
		for _, reason := range reasons {
			if row, known := s.table[reason]; !known || !row.Recorded {
				t.Errorf("there are records with the reason %s, and no row for them", reason)
			}
		}
	}
	s.CheckLedger(t)
}

// videoEnds makes a video whose upstream does something, moves its row when the row is in the given state, and holds its end against the
// table.
func videoEnds(does, moves, at string) func(s *settling, t *testing.T, reason string) {
	return func(s *settling, t *testing.T, reason string) {
		g := harness.SharedVideoDemo(t)
		c := harness.NewVideoCustomer(t, g, strings.ReplaceAll(reason, "_", "-"))
		db, before := g.DB(t), c.Balance(t)
		prompt := "settled as " + reason
		if does != "" {
			prompt = "simulate: " + does + "\n" + prompt
		}
		a := c.Call(t, http.MethodPost, harness.VideosPath, harness.VideoBody(harness.VideosModel, prompt))
		var id string
		harness.WaitUntil(t, "there is a job", func() bool { return db.Get(&id, `select id from video_jobs where account_id = $1`, c.AccountID) == nil })
		switch {
		case moves == "delete":
			if a := c.Call(t, http.MethodDelete, harness.VideosPath+"/"+id, ""); a.Status != http.StatusOK {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		case moves != "":
			harness.WaitUntil(t, at, func() bool {
				done, err := db.Exec(`update video_jobs set `+moves+` where id = $1 and `+at, id)
				if err != nil {
					t.Fatal(err)
				}
				n, _ := done.RowsAffected()
				return n == 1
			})
		}
		c.FinishJobs(t)
		rule := s.table[reason]
		var r settledCall
		if err := db.Get(&r, settledQuery, id); err != nil {
			t.Fatalf("%v after %d %s", err, a.Status, a.Body)
		}
		if r.Reason != reason || r.Outcome != rule.Outcome || r.Estimated != rule.Estimated {
			t.Errorf("the record is %+v, the row %+v", r, rule)
		}
		var asked int64
		if err := db.Get(&asked, `select seconds * 1000 from video_jobs where id = $1`, id); err != nil {
			t.Fatal(err)
		}
		if rule.Charge == "nothing" && (r.Cost != 0 || r.Millis != 0) ||
			rule.Charge == "seconds" && (r.Cost == 0 || r.Cost*asked != r.Reserved*r.Millis || (r.Millis < asked) != (reason == "video_shorter")) {
			t.Errorf("charged is %+v of %d ms, the row says %s", r, asked, rule.Charge)
		}
		if after := c.Balance(t); before.Posted-after.Posted != r.Cost || after.Held != before.Held {
			t.Errorf("the balance went from %+v to %+v for %d", before, after, r.Cost)
		}
	}
}

// TestSettlementTableIsShown finds every row on the console's page of rules, which needs no sign-in.
func TestSettlementTableIsShown(t *testing.T) {
	t.Parallel()
	a := harness.NewConsoleClient(t, harness.SharedDemo(t)).Visit(t, "/console/billing/rules", nil)
	if a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	table := settlementTable(t)
	for reason, row := range table {
		for _, text := range []string{`id="` + reason + `"`, row.When, row.Text, "outcome " + row.Outcome} {
			if !strings.Contains(a.Body, strings.ReplaceAll(text, "'", "&#39;")) {
				t.Errorf("the page does not show %q of %s", text, reason)
			}
		}
	}
	if n := strings.Count(a.Body, `data-testid="rule"`); n != len(table) {
		t.Errorf("the page has %d rows of %d", n, len(table))
	}
}
