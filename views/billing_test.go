package views_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	billingpages "umg/views/billing"
	"umg/views/stories"
	"umg/views/ui"
)

func TestHostileTextStaysTextOnThePagesAboutMoney(t *testing.T) {
	t.Parallel()
	const evil = `"><img src=x onerror=alert(1)><script>alert(1)</script>` + "`'{{"
	shell := views.Shell{Path: evil, Viewer: &views.Viewer{Email: evil, Rights: app.AllRights}, Balance: views.Balance{Known: true}}
	up := billingpages.TopUp{ID: evil, State: evil, Failure: evil, ReceiptURL: "javascript:alert(1)"}
	pay := &billingpages.Payments{
		TopUp: billingpages.TopUpForm{Choice: "own", Own: evil, OwnError: evil, FormError: evil, Key: evil},
		Auto:  billingpages.AutoTopUp{Threshold: evil, Amount: evil, Cap: evil, ThresholdError: evil, AmountError: evil, CapError: evil, FormError: evil, Off: evil},
		Low:   billingpages.LowBalance{Threshold: evil, Error: evil, Email: evil},
	}
	spend := billingpages.Breakdown{Query: billingpages.SpendQuery{By: evil}, Lines: []billingpages.SpendLine{{Name: evil, Note: evil, Cost: 1}}}
	failed := up
	failed.State = billingpages.TopUpFailed
	for name, view := range map[string]templ.Component{
		"billing": billingpages.OverviewPage(billingpages.Overview{Shell: shell, Pay: pay, Receipts: []billingpages.TopUp{up}, Spend: spend}),
		"top-up":  billingpages.TopUpPage(billingpages.TopUpDetail{Shell: shell, TopUp: up}),
		"failed":  billingpages.TopUpPage(billingpages.TopUpDetail{Shell: shell, TopUp: failed}),
		"leaving": billingpages.LeavingPage(billingpages.Leaving{Shell: shell, Title: evil, Text: evil, Link: evil, URL: "javascript:alert(1)"}),
		"ledger": billingpages.LedgerPage(billingpages.Ledger{Shell: shell, Query: views.LedgerQuery{Kinds: []string{evil}, From: evil}, More: true,
			Entries: []views.LedgerEntry{{Transaction: evil, Kind: evil, Ref: evil, Reason: evil, TopUp: evil}}}),
		"rules": billingpages.RulesPage(billingpages.Rules{Shell: shell, Rows: []views.SettlementRule{{Reason: evil, Outcome: evil, When: evil, Charge: evil, Text: evil}}}),
	} {
		page := render(t, view)
		if parse(t, page).Find("img, script:not([src]), [onerror]").Length() > 0 || strings.Contains(page, `"javascript:`) {
			t.Errorf("%s: hostile text became markup", name)
		}
	}
}

// TestAProofNamesBothSumsThatDiffer checks that a proof is not shown as correct when one nano-dollar is missing.
func TestAProofNamesBothSumsThatDiffer(t *testing.T) {
	t.Parallel()
	good := views.Proof{Usage: 5, Charges: 5, Entries: 7, Posted: 7, Grants: 7, At: stories.Now()}
	if text := render(t, billingpages.ProofPart(&good, views.Shell{})); !strings.Contains(text, "agree to the nano-dollar") {
		t.Error("equal sums are not said to agree")
	}
	for i, change := range []func(*views.Proof){
		func(p *views.Proof) { p.Usage++ }, func(p *views.Proof) { p.Charges++ }, func(p *views.Proof) { p.Entries++ },
		func(p *views.Proof) { p.Posted++ }, func(p *views.Proof) { p.Grants++ },
	} {
		bad := good
		change(&bad)
		text := parse(t, render(t, billingpages.ProofPart(&bad, views.Shell{}))).Text()
		if strings.Contains(text, "agree to the nano-dollar") || !strings.Contains(text, "do not agree") || !strings.Contains(text, "0.000000001") {
			t.Errorf("change %d: %s", i, text)
		}
	}
	if text := render(t, billingpages.ProofPart(nil, views.Shell{})); strings.Contains(text, "nano-dollar") || !strings.Contains(text, "could not be compared") {
		t.Errorf("without sums: %s", text)
	}
}

// TestManyLinesAreShownAsFewAndStillAddUp: what is put together keeps every nano-dollar, and a wrong total is seen.
func TestManyLinesAreShownAsFewAndStillAddUp(t *testing.T) {
	t.Parallel()
	b := billingpages.Breakdown{Query: billingpages.ParseSpendQuery(nil, stories.Now())}
	for i := range 60 {
		b.Lines = append(b.Lines, billingpages.SpendLine{Name: "m", Requests: 1, Cost: app.Amount(i)})
		b.Total.Cost += app.Amount(i)
	}
	doc := parse(t, render(t, billingpages.SpendPart(b, views.Shell{Now: stories.Now()})))
	rows := doc.Find("[data-testid=spend]")
	exact := rows.Last().Find(".column-money").AttrOr("title", "")
	if rows.Length() != 21 || !strings.Contains(rows.Last().Text(), "40 others") || exact != "$0.00000158" {
		t.Errorf("%d rows, the last is %s", rows.Length(), rows.Last().Text())
	}
	if !strings.Contains(doc.Text(), "add up to the total exactly") {
		t.Error("an exact sum is not said to be one")
	}
	b.Total.Cost++
	if text := parse(t, render(t, billingpages.SpendPart(b, views.Shell{Now: stories.Now()}))).Text(); !strings.Contains(text, "the total says $0.000001771") {
		t.Errorf("a wrong total is not seen: %s", text)
	}
}

func TestAddressesOfMonthsAndLedgersAreReadStrictly(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"": "/console/billing", "by=day": "/console/billing?by=day", "by=x&month=y": "/console/billing",
		"month=2026-11": "/console/billing", "month=2026-12": "/console/billing", "month=2026-10&by=key": "/console/billing?by=key&month=2026-10",
		"month=1999-01": "/console/billing",
	} {
		values, _ := url.ParseQuery(address)
		if got := billingpages.ParseSpendQuery(values, stories.Now()).Path(); got != want {
			t.Errorf("%s becomes %s, want %s", address, got, want)
		}
	}
	for address, want := range map[string]string{
		"": "/console/billing/ledger", "kind=charge&kind=x&kind=grant": "/console/billing/ledger?kind=grant&kind=charge",
		"from=2026-02-30&to=2026-02-28": "/console/billing/ledger?to=2026-02-28", "before=-4": "/console/billing/ledger",
		"before=12": "/console/billing/ledger?before=12",
	} {
		values, _ := url.ParseQuery(address)
		if got := views.ParseLedgerQuery(values).Path(); got != want {
			t.Errorf("%s becomes %s, want %s", address, got, want)
		}
	}
	from, to := views.LedgerQuery{From: "2026-02-27", To: "2026-02-28"}.Span()
	if to.Sub(from) != 48*time.Hour {
		t.Errorf("two days are from %s to %s", from, to)
	}
}

// TestOneBannerAboutCredit: a frozen account has its own, on every page.
func TestOneBannerAboutCredit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shell views.Shell
		want  ui.Tone
	}{
		{views.Shell{}, ""}, {views.Shell{Balance: views.Balance{Known: true, Available: 9, LowAt: 1}}, ""},
		{views.Shell{Balance: views.Balance{Known: true, Available: 1, LowAt: 1}}, ui.Warning},
		{views.Shell{Balance: views.Balance{Known: true}}, ui.Danger}, {views.Shell{Balance: views.Balance{Known: true}, Frozen: &views.Freeze{}}, ""},
	} {
		for _, payable := range []bool{false, true} {
			doc := parse(t, render(t, views.CreditNotice(c.shell, payable)))
			if tone := doc.Find("#credit-notice").AttrOr("data-tone", ""); tone != string(c.want) {
				t.Errorf("%+v has the banner %q, want %q", c.shell.Balance, tone, c.want)
			}
			if links := doc.Find("a").Length(); links > 0 && !payable {
				t.Error("it leads to buying where nothing can be bought")
			}
		}
	}
}
