package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"umg/app/console"
)

// strict makes ann an operator of a server that is no demo, while she is signed in.
func strict(t *testing.T) (*fixture, *person) {
	t.Helper()
	h := setup(t)
	p := h.signedIn("ann@example.com")
	h.db.MustExec(`update users set operator = true where email = 'ann@example.com'`)
	return h, p
}

// TestOperatorsReachNothingOfTheirsBeforeTheySetUpCodes asks for every page and action of operators, as a page and as a part of one.
func TestOperatorsReachNothingOfTheirsBeforeTheySetUpCodes(t *testing.T) {
	t.Parallel()
	_, p := strict(t)
	asked := 0
	for _, r := range console.Routes() {
		if !r.Operator {
			continue
		}
		asked++
		path := "/console" + strings.NewReplacer(":id", "x", ":version", "1", ":code", "X", ":replica", "x").Replace(r.Path)
		if a := p.do(r.Method, path, url.Values{}); a.status != http.StatusSeeOther || a.header.Get("Location") != "/console/settings/security" {
			t.Errorf("%s %s: %d %s", r.Method, path, a.status, a.header.Get("Location"))
		}
		p.headers["HX-Request"] = "true"
		if a := p.do(r.Method, path, url.Values{}); a.status != http.StatusNoContent || a.header.Get("HX-Redirect") != "/console/settings/security" {
			t.Errorf("%s %s for the script: %d %s", r.Method, path, a.status, a.header.Get("HX-Redirect"))
		}
		delete(p.headers, "HX-Request")
	}
	if asked < 20 {
		t.Fatalf("%d routes of operators", asked)
	}
	for _, path := range []string{"/console", "/console/search?q=operator"} {
		if body := p.see(path).body; strings.Contains(body, "/console/operator") {
			t.Errorf("%s leads to the operators' pages", path)
		}
	}
}

// TestAnOperatorIsLedToCodesAndThenOn signs in, as an operator of before this rule, and sets up codes by forms alone.
func TestAnOperatorIsLedToCodesAndThenOn(t *testing.T) {
	t.Parallel()
	h, _ := strict(t)
	p := h.visitor()
	form := url.Values{"email": {"ann@example.com"}, "password": {password}, "next": {"/console/operator/catalog"}}
	p.wants(p.send("/console/sign-in", form), http.StatusSeeOther, "/console/settings/security")
	p.wants(p.see("/console/settings/security"), http.StatusOK, "Set up sign-in codes to run this gateway")
	const base = "/console/settings/security/codes"
	p.wants(p.send(base, url.Values{"current_password": {password}}), http.StatusSeeOther, base)
	page := p.wants(p.see(base), http.StatusOK, "Set up sign-in codes to run this gateway")
	secret := strings.ReplaceAll(secretShown.FindStringSubmatch(page.body)[1], " ", "")
	before := p.cookies["__Host-umg"].Value
	p.wants(p.send(base+"/confirm", url.Values{"code": {p.code(secret, 0)}}), http.StatusOK, `href="/console/operator/catalog"`)
	p.wants(p.see("/console/operator/catalog"), http.StatusOK, "Catalog")
	p.wants(p.see("/console"), http.StatusOK, `href="/console/operator"`)
	if p.cookies["__Host-umg"].Value == before {
		t.Error("the session was not renewed")
	}
	old := h.visitor()
	old.cookies["__Host-umg"] = &http.Cookie{Name: "__Host-umg", Value: before}
	old.wants(old.see("/console/operator/catalog"), http.StatusSeeOther, "/console/sign-in")
	// Codes that are turned off take the pages away with the next request.
	h.db.MustExec(`delete from totp_secrets`)
	p.wants(p.see("/console/operator/catalog"), http.StatusSeeOther, "/console/settings/security")
}
