package console

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"umg/e2e/harness"
)

// changes are the rows that came and went between two looks: as they are, and how often with what is new each time left out.
type changes struct {
	calls int
	// spent is in nano-dollars of the account.
	spent      int64
	raw        map[string]bool
	came, went map[string]int
}

// like is what of the same table came to be with valid bodies.
func (c changes) like(line string) (same string) {
	table, _, _ := strings.Cut(line, " ")
	for other := range c.came {
		if strings.HasPrefix(other, table+" ") {
			same += other + "\n"
		}
	}
	return same
}

// differences compares two looks at all rows.
func differences(before, after map[string]bool) changes {
	c := changes{raw: map[string]bool{}, came: map[string]int{}, went: map[string]int{}}
	for line := range after {
		if !before[line] {
			c.raw[line] = true
			c.came[neutralRow(line)]++
		}
	}
	for line := range before {
		if !after[line] {
			c.went[neutralRow(line)]++
		}
	}
	// A row may have newer times or another number, and nothing else.
	for line, n := range c.came {
		same := min(n, c.went[line])
		if c.came[line], c.went[line] = n-same, c.went[line]-same; c.came[line] == 0 {
			delete(c.came, line)
		}
	}
	return c
}

var neutralParts = []struct {
	found *regexp.Regexp
	word  string
}{
	{regexp.MustCompile(`mass[-0-9]+(@example\.com)?`), "FRESH"},
	{regexp.MustCompile(`[a-z]+-\d{15,}'s account`), "FRESH"},
	{regexp.MustCompile(`(developer|billing|admin)-\d{15,}@example\.com`), "MEMBER"},
	{regexp.MustCompile(`"from": "(developer|billing)"`), `"from": "ROLE"`},
	{regexp.MustCompile(`\b[a-z]+_(test_)?[0-9a-zA-Z]{16,}\b`), "ID"},
	{regexp.MustCompile(`\b[0-9a-z]{26}\b`), "ID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ][0-9:.]+(\+00:00|Z)?`), "TIME"},
	{regexp.MustCompile(`\\\\x[0-9a-f]+`), "BYTES"},
	{regexp.MustCompile(`\$argon2id\$[^"]+`), "PASSWORD"},
	{regexp.MustCompile(`…[0-9A-Za-z]{4}`), "…TAIL"},
	{regexp.MustCompile(`/hook/\d+`), "/hook/N"},
	{regexp.MustCompile(`"amount_nanos": -\d+`), `"amount_nanos": -N`},
	// The last step of a sign-in code is the number of its half minute.
	{regexp.MustCompile(`"last_step": \d+`), `"last_step": N`},
	{regexp.MustCompile(`"trail": "[^"]*"`), `"trail": "STEPS"`},
	// The sum grows with each call of the account.
	{regexp.MustCompile(`^(spend_limits .*"spent_nanos": )\d+`), `${1}N`},
}

// neutralRow replaces the parts of a row that differ in every run and that no request sets.
func neutralRow(line string) string {
	for _, part := range neutralParts {
		line = part.found.ReplaceAllString(line, part.word)
	}
	return line
}

// moving are columns that move by themselves, by table; those without a table are of all.
var moving = map[string]string{
	"": "last_used_at,previous_used_at,last_used_ip,last_seen_at,seen_at,due_at,claimed_until,last_four,previous_last_four,secret_hint,prefix," +
		"live,seq,data,ip,tries,checked_at",
	"mails":              "state,attempts,ended_at,body_sealed,subject",
	"webhook_deliveries": "state,attempts,last_status,last_error,updated_at",
	"assets":             "state,extra",
	"webhook_attempts":   "number,duration_ms,request_headers,response_headers,response_body",
	// A longer body needs a larger hold.
	"usage_records": "duration_micros,first_byte_micros,reserved_nanos",
	"video_jobs":    "callback_token,content",
	// The test compares the balance by the amount spent.
	"credit_accounts": "posted_nanos,held_nanos",
	"ledger_entries":  "id,posted_after",
	"grants":          "remaining_nanos,spent",
}

// look is every row of the people and accounts here, once nothing moves by itself any more where the route sets something going.
func (m *assigner) look(t *testing.T, a assignment) map[string]bool {
	t.Helper()
	db := m.db
	if a.settles {
		m.still(t, db)
	}
	var users, accounts, emails []string
	m.list(t, db, &users, `select id from users
		where email like 'mass-%' or id = any($2) or id in (select user_id from memberships where account_id = any($1))`,
		pq.Array([]string{m.owner.AccountID, m.stranger.AccountID}), pq.Array(m.known))
	// A person who leaves the account must still be compared.
	m.known = users
	m.list(t, db, &accounts, `select distinct account_id from memberships where user_id = any($1)`, pq.Array(users))
	m.list(t, db, &emails, `select email from users where id = any($1)`, pq.Array(users))
	rows := map[string]bool{}
	var lines []string
	m.list(t, db, &lines, m.every, pq.Array(users), pq.Array(accounts), pq.Array(emails))
	for _, line := range lines {
		rows[line] = true
	}
	return rows
}

func (m *assigner) list(t *testing.T, db *sqlx.DB, into *[]string, query string, args ...any) {
	t.Helper()
	if err := db.Select(into, query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// everyRow is a query for the rows of all tables that name an account or a user, but for records of the refusals that the test causes.
func everyRow(t *testing.T, db *sqlx.DB) string {
	t.Helper()
	var tables []struct {
		Name    string `db:"table_name"`
		Account bool   `db:"account"`
		User    bool   `db:"person"`
	}
	err := db.Select(&tables, `select c.table_name, bool_or(c.column_name = 'account_id') as account, bool_or(c.column_name = 'user_id') as person
		from information_schema.columns c join pg_class k on k.relname = c.table_name
		where c.table_schema = 'public' and k.relkind in ('r', 'p') and not k.relispartition
			and c.table_name not in ('leases', 'call_checkpoints', 'usage_rollups', 'journal_cursors', 'key_networks', 'refusals')
		group by 1 having bool_or(c.column_name in ('account_id', 'user_id')) order by 1`)
	if err != nil || len(tables) < 20 {
		t.Fatal(tables, err)
	}
	part := func(table, where string) string {
		return fmt.Sprintf(`select '%[1]s ' || (to_jsonb(r) - '{%[2]s}'::text[])::text from %[1]s r where %[3]s`,
			table, strings.Trim(moving[""]+","+moving[table], ","), where)
	}
	all := []string{
		part("users", "id = any($1)"), part("accounts", "id = any($2)"), part("credit_accounts", "id = any($2)"),
		part("mails", "recipient = any($3) or recipient like 'mass-%'"),
	}
	for _, one := range tables {
		var where []string
		if one.Account {
			where = append(where, "account_id = any($2)")
		}
		if one.User {
			where = append(where, "user_id = any($1)")
		}
		all = append(all, part(one.Name, strings.Join(where, " or ")))
	}
	return strings.Join(all, "\nunion all\n")
}

// still waits until no job runs and every settlement is in the database.
func (m *assigner) still(t *testing.T, db *sqlx.DB) {
	t.Helper()
	for deadline := time.Now().Add(harness.JobTimeMax); ; time.Sleep(harness.PollInterval) {
		var running int
		err := db.Get(&running, `select (select count(*) from video_jobs where account_id = $1 and state not in ('completed', 'failed'))
			+ (select count(*) from webhook_deliveries where account_id = $1 and state = 'pending')
			+ (select count(*) from assets where account_id = $1 and deleted_at is not null)`, m.owner.AccountID)
		if err != nil {
			t.Fatal(err)
		}
		if running == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d jobs still run", running)
		}
	}
	m.g.SettledBalance(t, m.owner.AccountID)
}

// posted is what the account has.
func (m *assigner) posted(t *testing.T) (n int64) {
	t.Helper()
	if err := m.db.Get(&n, `select posted_nanos from credit_accounts where id = $1`, m.owner.AccountID); err != nil {
		t.Fatal(err)
	}
	return n
}
