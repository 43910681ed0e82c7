package apikey

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"umg/app"
	"umg/billing"
)

const (
	keysMax        = 200 // An account has at most this many keys that are not deleted.
	keyNameChars   = 80
	keyModelsMax   = 100
	modelNameBytes = 200
	concurrencyMax = 10_000
	addressesMax   = 50
	mappedBits     = 96                // The prefix of a mapped IPv4 address has this length.
	expiryYearMax  = 9999              // RFC 3339 cannot write a later year.
	perMinuteMax   = 1_000_000_000_000 // This is for requests or tokens; no provider serves more.
	keysPageMax    = 100
)

var envPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,19}$`)

// ErrorMode says which HTTP statuses the chat route answers a key's failed calls with.
type ErrorMode string

// Documented answers 200 with the code in the body, and Standard answers the status itself.
const (
	Documented ErrorMode = "documented"
	Standard   ErrorMode = "standard"
)

// Key is an API key without its secret.
type Key struct {
	// Spec is what the key's owner chose. Its Budget is set only in a key that is locked for a change; BudgetID names it elsewhere.
	Spec
	Secret  Secret
	LastUse LastUse

	ID           string
	AccountID    string
	CreatedBy    string // CreatedBy is the e-mail address of the user who made it.
	CreatedByKey string // CreatedByKey is the id of the management key that made it.
	CreatedAt    time.Time
	Disabled     bool
	Rights       app.Rights // Rights are those that the scopes give.
	BudgetID     string     // BudgetID is the credit account of its budget. It is empty without one.

	// Find sets the facts below, which belong to the account.
	LimitFactor int  // LimitFactor multiplies the account's limits.
	Paid        bool // Paid accounts have had credit in addition to the trial's.
	Frozen      bool // Nothing may cost a frozen account anything.
	// Uncharged is set when the account needs no credit and its calls are not charged.
	Uncharged   bool
	KeepContent bool // KeepContent accounts store content of the key's calls.
}

// Secret is what a key shows of its secrets, of which only fingerprints are stored.
type Secret struct {
	Prefix    string // Prefix is the first characters of the secret.
	LastFour  string
	RotatedAt *time.Time // RotatedAt is nil for a key that was never rotated.
	LeakedAt  *time.Time // LeakedAt is when the secret was found in public. The key stays off until it is rotated.

	// The previous secret is the one from before the last rotation.
	PreviousUntil    *time.Time // PreviousUntil is when the previous secret ends; nil without one.
	PreviousLastFour string
	PreviousUsedAt   *time.Time // PreviousUsedAt is precise to the minute.
}

// LastUse is the last time that a call used a key.
type LastUse struct {
	At *time.Time // At is precise to the minute. It is nil for a key that was never used.
	IP string
}

// Principal is the account, with the key acting for it. A frozen account is refused where credit is held, so it asks for credit.
func (k Key) Principal() app.Principal {
	return app.Principal{
		AccountID: k.AccountID, KeyID: k.ID, BudgetID: k.BudgetID, Models: k.Models, Rights: k.Rights,
		Uncharged: k.Uncharged && !k.Frozen,
	}
}

// Permit refuses what the key's scopes do not allow. It costs nothing for a key that has the right.
func (k Key) Permit(need app.Rights) error {
	if k.Rights.Has(need) {
		return nil
	}
	return app.Errorf(app.Forbidden, "insufficient_scope",
		"This needs the scope %s, and the key %q has only %s. Change the key in the console, or use another one.",
		app.JoinWords(app.ScopesFor(need)), k.Name, app.JoinWords(k.Scopes)).Final()
}

// Spec is the caller's choice for a new key. Only the name is required.
type Spec struct {
	Name              string
	Env               string // Env is a tag such as production or development.
	ErrorMode         ErrorMode
	Models            []string       // Models may be called by the key; empty means all.
	Addresses         []netip.Prefix // Addresses are the networks that may use the key; empty means all.
	Scopes            []app.Scope    // An empty Scopes means the standard scopes.
	LogContent        bool           // LogContent asks to store the content of the key's calls.
	Strict            bool           // Strict refuses parameters that a model does not support, instead of ignoring them.
	Concurrency       int            // Concurrency limits parallel calls; zero leaves only the account's limit.
	RequestsPerMinute int64          // RequestsPerMinute and TokensPerMinute of zero leave only the models' limits.
	TokensPerMinute   int64
	ExpiresAt         *time.Time
	Budget            *billing.Allowance // Without a Budget, only the account's credit limits the key.
	BudgetAlerts      []int              // BudgetAlerts are in hundredths of the budget; nil means the defaults.
}

// Patch is the caller's change of a key. A nil field is not changed.
type Patch struct {
	Name              *string
	Env               *string
	ErrorMode         *ErrorMode
	Models            *[]string
	Addresses         *[]netip.Prefix
	Scopes            *[]app.Scope
	LogContent        *bool
	Strict            *bool
	Concurrency       *int
	RequestsPerMinute *int64
	TokensPerMinute   *int64
	ExpiresAt         **time.Time         // A pointer to nil removes the expiry.
	Budget            **billing.Allowance // A pointer to nil removes the budget.
	BudgetAlerts      *[]int
}

// Spec is a new key of which nothing but this is said.
func (c Patch) Spec() Spec { return c.over(Spec{}) }

// over returns what a key becomes by the patch.
func (c Patch) over(s Spec) Spec {
	set(&s.Name, c.Name)
	set(&s.Env, c.Env)
	set(&s.ErrorMode, c.ErrorMode)
	set(&s.Models, c.Models)
	set(&s.Addresses, c.Addresses)
	set(&s.Scopes, c.Scopes)
	set(&s.LogContent, c.LogContent)
	set(&s.Strict, c.Strict)
	set(&s.Concurrency, c.Concurrency)
	set(&s.RequestsPerMinute, c.RequestsPerMinute)
	set(&s.TokensPerMinute, c.TokensPerMinute)
	set(&s.ExpiresAt, c.ExpiresAt)
	set(&s.Budget, c.Budget)
	set(&s.BudgetAlerts, c.BudgetAlerts)
	return s
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// checkBudget refuses a budget of a key that cannot be one. Nil is no budget.
func checkBudget(b *billing.Allowance) error {
	switch {
	case b == nil:
		return nil
	case b.Limit <= 0 || b.Limit > billing.AllowanceMax:
		return app.InvalidValue("budget", "A budget is more than $0 and at most $%s. Leave it empty for none.", billing.AllowanceMax)
	case !slices.Contains(Periods(), b.Period):
		return app.InvalidValue("budget_period", "A budget is for one of %s.", app.JoinWords(Periods()))
	}
	return nil
}

// Periods are the periods that the budget of a key may have.
func Periods() []billing.Period {
	return []billing.Period{billing.InTotal, billing.EachDay, billing.EachWeek, billing.EachMonth}
}

func (spec *Spec) check(now time.Time) error {
	spec.Name = strings.TrimSpace(spec.Name)
	if len(spec.Scopes) == 0 {
		spec.Scopes = app.StandardScopes()
	}
	spec.Scopes = inOrder(spec.Scopes)
	if spec.ErrorMode == "" {
		spec.ErrorMode = Documented
	}
	switch {
	case spec.Name == "" || utf8.RuneCountInString(spec.Name) > keyNameChars || !app.Printable(spec.Name):
		return app.InvalidValue("name", "A name has between 1 and %d printable characters.", keyNameChars)
	case spec.Env != "" && !envPattern.MatchString(spec.Env):
		return app.InvalidValue("env", "An environment is 1 to 20 lower-case letters, digits and hyphens, such as production.")
	case spec.ErrorMode != Documented && spec.ErrorMode != Standard:
		return app.InvalidValue("error_mode", "The error mode is %s or %s.", Documented, Standard)
	case spec.ExpiresAt != nil && (!spec.ExpiresAt.After(now) || spec.ExpiresAt.Year() > expiryYearMax):
		return app.InvalidValue("expires_at", "The expiry must be in the future, and not after the year %d.", expiryYearMax)
	}
	for _, limit := range []struct {
		field, text string
		n, most     int64
	}{
		{
			"concurrency", "The limit of simultaneous calls is between 0, for the account's limit, and %d.",
			int64(spec.Concurrency), concurrencyMax,
		},
		{
			"requests_per_minute", "The limit of requests a minute is between 0, for none of its own, and %d.",
			spec.RequestsPerMinute, perMinuteMax,
		},
		{
			"tokens_per_minute", "The limit of tokens a minute is between 0, for none of its own, and %d.",
			spec.TokensPerMinute, perMinuteMax,
		},
	} {
		if limit.n < 0 || limit.n > limit.most {
			return app.InvalidValue(limit.field, limit.text, limit.most)
		}
	}
	return cmp.Or(checkScopes(spec.Scopes), spec.checkAddresses(), spec.checkModels(), spec.checkAlerts(), checkBudget(spec.Budget))
}

func (spec *Spec) checkModels() error {
	if len(spec.Models) > keyModelsMax {
		return app.InvalidValue("models", "A key lists at most %d models.", keyModelsMax)
	}
	for _, m := range spec.Models {
		if m == "" || len(m) > modelNameBytes || !app.Printable(m) {
			return app.InvalidValue("models", "%q is not the id of a model.", m)
		}
	}
	return nil
}

// ParseNetwork reads a network, or a single address, which is a network of one. The error is about the text alone; faces say
// where it stood.
func ParseNetwork(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return netip.Prefix{}, errNoNetwork()
		}
		return p, nil
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, errNoNetwork()
	}
	a = a.Unmap().WithZone("")
	return netip.PrefixFrom(a, a.BitLen()), nil
}

func errNoNetwork() error {
	return app.InvalidValue("addresses", "An address is one such as 203.0.113.7, or a network such as 203.0.113.0/24 or 2001:db8::/48.")
}

// checkAddresses refuses what is no network, and brings the others into the one form in which they are kept.
func (spec *Spec) checkAddresses() error {
	if len(spec.Addresses) > addressesMax {
		return app.InvalidValue("addresses", "A key lists at most %d addresses and networks.", addressesMax)
	}
	list := make([]netip.Prefix, 0, len(spec.Addresses))
	for _, p := range spec.Addresses {
		if p.Addr().Is4In6() && p.Bits() >= mappedBits {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mappedBits)
		}
		if !p.IsValid() || p.Addr().Is4In6() {
			return errNoNetwork()
		}
		if p = p.Masked(); !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	spec.Addresses = list
	return nil
}

// checkScopes refuses unknown scopes, and management beside what spends or holds what was made.
func checkScopes(list []app.Scope) error {
	for _, s := range list {
		if !slices.Contains(app.Scopes(), s) {
			return app.InvalidValue("scopes", "%q is no scope; the scopes are %s.", s, app.JoinWords(app.Scopes()))
		}
	}
	if slices.Contains(list, app.ScopeManagement) && app.RightsOfScopes(list)&app.ManagementExcludes != 0 {
		return app.InvalidValue("scopes", "A key with the scope %s can have none that spend or hold what was made: make another key for those.",
			app.ScopeManagement)
	}
	return nil
}

// inOrder brings known scopes into the order in which they are shown, each once, so that the same choice is kept the same way.
func inOrder(list []app.Scope) []app.Scope {
	known := app.Scopes()
	ordered := slices.DeleteFunc(slices.Clone(known), func(s app.Scope) bool { return !slices.Contains(list, s) })
	for _, s := range list {
		if !slices.Contains(known, s) {
			ordered = append(ordered, s) // The next check refuses the unknown scope by its name.
		}
	}
	return ordered
}

// permits reports whether a key may be used from an address. It reads the address only where the key has a list.
func (k *Key) permits(from string) bool {
	if len(k.Addresses) == 0 {
		return true
	}
	addr, err := netip.ParseAddr(from)
	if err != nil {
		return false
	}
	addr = addr.Unmap().WithZone("")
	return slices.ContainsFunc(k.Addresses, func(p netip.Prefix) bool { return p.Contains(addr) })
}
