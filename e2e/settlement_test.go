package e2e

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
	text, err := os.ReadFile("../billing/settlement.yaml")
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
	customer

	table map[string]rule
	db    *sqlx.DB
	// These models cost 1 and 2 dollars a million tokens.
	patient, impatient, silent string
	// The upstream of mute accepts connections and sends nothing.
	mute  string
	muted chan struct{}
	// The first provider of recovers cuts every answer.
	recovers string
}

// Prices of the models, in nano-dollars a token.
const inputNanos, outputNanos = 1000, 2000

// TestSettlementTable brings every row of the settlement table about on the built server, in all styles, and holds what is
// charged, recorded and shown against the row.
func TestSettlementTable(t *testing.T) {
	t.Parallel()
	table, g := settlementTable(t), running(t)
	s := &settling{customer: g.newCustomer(t, "settling"), table: table, db: g.db(t), patient: "test/settling", impatient: "test/settling-soon"}
	s.silent, s.recovers = "test/settling-silent", "test/settling-recovers"
	s.setLimits(t, 1000)
	s.setAvailable(t, 100_000_000_000)
	g.addModels(t,
		model{id: s.patient, upstream: "sim", provider: "meridian", more: everything}, model{id: s.impatient, upstream: "sim", more: everything},
		model{id: s.recovers, upstream: "recovers+cut-after=10t+pace=1ms", provider: "meridian", second: "crossroads", more: "    on_cut: recover\n" + everything})
	s.addSilent(t)
	before := s.money(t)
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
				for _, p := range allProtocols() {
					for _, form := range []string{streamOnly, jsonOnly} {
						if (c.only == "" || c.only == form) && (c.style == "" || c.style == p.style) {
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
func (s *settling) settles(t *testing.T, reason string, c settlingCase, p protocol, stream bool) {
	prompt, members := c.prompt, []string{}
	if c.does != "" {
		prompt = "simulate: " + c.does + "\n" + prompt
	}
	if c.max > 0 {
		members = append(members, p.bounded(c.max))
	}
	if stream {
		members = append(members, `"stream":true`, p.wantsUsage())
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
	a := p.send(t, s.customer, p.ask(id, prompt, members...))
	s.check(t, reason, fmt.Sprintf("%s %q stream %v", p.style, c.does, stream), a.header.Get("X-Request-Id"), &a)
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

const settledQuery = `select reason, outcome, estimated, model, input_tokens, output_tokens, milliseconds, cost_nanos, reserved_nanos, overrun_nanos
	from usage_records where request_id = $1`

// check holds the record of a call against the row of the reason that it must have, and against the cost that was shown.
func (s *settling) check(t *testing.T, reason, what, id string, a *answer) {
	t.Helper()
	var r settledCall
	for deadline := time.Now().Add(callTimeMax); ; time.Sleep(10 * time.Millisecond) {
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
	shown := costShown.FindAllStringSubmatch(a.body, -1)
	for _, one := range shown {
		if cost := nanos(t, one[1]); cost != r.Cost {
			t.Errorf("%s: %d is shown, %d charged", what, cost, r.Cost)
		}
	}
	if tells := rule.Outcome == "succeeded" || rule.Charge == "delivered"; tells != (len(shown) == 1) && reason != "credit_ran_out" || len(shown) > 1 {
		t.Errorf("%s: %d costs are shown: %d %.1000s", what, len(shown), a.status, a.body)
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
	until(t, "a record with "+reason, func() bool {
		err := s.db.Get(&id, `select request_id from usage_records where account_id = $1 and reason = $2 and request_id > $3
			order by request_id limit 1`, s.accountID, reason, seen)
		return err == nil
	})
	return id
}

// adds insists that the customer's balance has moved by what is charged, and that no record on the server has a reason that
// is not in the table.
func (s *settling) adds(t *testing.T, before balance) {
	if t.Failed() {
		return
	}
	db := s.customer.db(t)
	var charged int64
	if err := db.Get(&charged, `select coalesce(sum(cost_nanos), 0)::bigint from usage_records where account_id = $1`, s.accountID); err != nil {
		t.Fatal(err)
	}
	until(t, "nothing is held", func() bool { return s.money(t).Held == 0 })
	if after := s.money(t); before.Posted-after.Posted != charged {
		t.Errorf("the balance went from %+v to %+v, and %d are charged", before, after, charged)
	}
	for _, g := range sharedDemos() {
		var reasons []string
		if err := g.db(t).Select(&reasons, `select distinct reason from usage_records`); err != nil {
			t.Fatal(err)
		}
		for _, reason := range reasons {
			if row, known := s.table[reason]; !known || !row.Recorded {
				t.Errorf("there are records with the reason %s, and no row for them", reason)
			}
		}
	}
	s.books(t)
}

// videoEnds makes a video whose upstream does something, moves its row when the row is in the given state, and holds its end against the
// table.
func videoEnds(does, moves, at string) func(s *settling, t *testing.T, reason string) {
	return func(s *settling, t *testing.T, reason string) {
		g := videoDemo(t)
		c := filmmaker(t, g, strings.ReplaceAll(reason, "_", "-"))
		db, before := g.db(t), c.money(t)
		prompt := "settled as " + reason
		if does != "" {
			prompt = "simulate: " + does + "\n" + prompt
		}
		a := c.call(t, http.MethodPost, videosPath, videoBody(reelModel, prompt))
		var id string
		until(t, "there is a job", func() bool { return db.Get(&id, `select id from video_jobs where account_id = $1`, c.accountID) == nil })
		switch {
		case moves == "delete":
			if a := c.call(t, http.MethodDelete, videosPath+"/"+id, ""); a.status != http.StatusOK {
				t.Fatalf("%d %s", a.status, a.body)
			}
		case moves != "":
			until(t, at, func() bool {
				done, err := db.Exec(`update video_jobs set `+moves+` where id = $1 and `+at, id)
				if err != nil {
					t.Fatal(err)
				}
				n, _ := done.RowsAffected()
				return n == 1
			})
		}
		c.settle(t)
		rule := s.table[reason]
		var r settledCall
		if err := db.Get(&r, settledQuery, id); err != nil {
			t.Fatalf("%v after %d %s", err, a.status, a.body)
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
		if after := c.money(t); before.Posted-after.Posted != r.Cost || after.Held != before.Held {
			t.Errorf("the balance went from %+v to %+v for %d", before, after, r.Cost)
		}
	}
}

// TestSettlementTableIsShown finds every row on the console's page of rules, which needs no sign-in.
func TestSettlementTableIsShown(t *testing.T) {
	t.Parallel()
	a := newPerson(t, running(t)).visit(t, "/console/billing/rules", nil)
	if a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	table := settlementTable(t)
	for reason, row := range table {
		for _, text := range []string{`id="` + reason + `"`, row.When, row.Text, "outcome " + row.Outcome} {
			if !strings.Contains(a.body, strings.ReplaceAll(text, "'", "&#39;")) {
				t.Errorf("the page does not show %q of %s", text, reason)
			}
		}
	}
	if n := strings.Count(a.body, `data-testid="rule"`); n != len(table) {
		t.Errorf("the page has %d rows of %d", n, len(table))
	}
}
