package docs_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"umg/app/docs"
)

var values = map[string]string{
	"server": "https://gateway.example", "base_url": "https://gateway.example/v1", "key": "sk-umg-…EPn1", "model": "a/b", "messages_model": "a/b",
	"responses_model": "a/b", "native_model": "a/b", "video_model": "a/v", "asset_model": "a/v", "tools_model": "a/t",
}

func TestEveryPageSaysWhatItIsAndIsFilled(t *testing.T) {
	t.Parallel()
	for _, p := range docs.Pages() {
		text := p.Markdown(values)
		if left := regexp.MustCompile(`\{\{[a-z_]+\}\}`).FindString(text); left != "" || strings.Contains(text, "](/") {
			t.Errorf("%s still has %q, or a link without a server", p.Name, left)
		}
		seen := map[string]bool{}
		for _, h := range p.Headings() {
			if seen[h.ID] || h.ID == "" {
				t.Errorf("%s has two places called %q", p.Name, h.ID)
			}
			seen[h.ID] = true
		}
		for _, b := range p.Blocks(values) {
			if html := string(b.HTML); strings.Contains(html, "%7B%7B") || strings.Contains(html, "{{") {
				t.Errorf("%s: a name is not filled: %s", p.Name, html)
			}
			for _, s := range b.Samples {
				if strings.Contains(s.Source, "{{") || s.Source == "" {
					t.Errorf("%s: code is not filled: %.80q", p.Name, s.Source)
				}
				if s.Language == "json" && !json.Valid([]byte(s.Source)) {
					t.Errorf("%s: not JSON: %.200s", p.Name, s.Source)
				}
			}
		}
	}
	if len(docs.Pages()) < 15 {
		t.Errorf("only %d pages", len(docs.Pages()))
	}
}

// TestEveryLinkLeadsSomewhere is about links between the pages; those to pages of the console are compared with its routes there.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(https://gateway\.example(/console/docs[^)#]*)(#[^)]*)?\)`)
	for _, p := range docs.Pages() {
		for _, m := range link.FindAllStringSubmatch(p.Markdown(values), -1) {
			to := docs.Find(strings.TrimPrefix(m[1], docs.Path+"/"))
			if to == nil {
				t.Errorf("%s leads to %s, which is no page", p.Name, m[1])
				continue
			}
			if m[2] != "" && !slices.ContainsFunc(headings(to), func(id string) bool { return "#"+id == m[2] }) {
				t.Errorf("%s leads to %s%s, which is no place", p.Name, m[1], m[2])
			}
		}
	}
}

func headings(p *docs.Page) []string {
	var ids []string
	for _, h := range p.Headings() {
		ids = append(ids, h.ID)
	}
	return ids
}

// pagesOnly are the codes that only pages of the console and commands answer with, where people read the message.
const pagesOnly = " code_used credential_in_use credential_not_found cross_origin email_taken email_verified invalid_code invalid_credentials invalid_pause invalid_prompt " +
	"invitation_for_other invitation_unknown link_expired link_unknown link_used link_void no_mail not_paused password_changed " +
	"password_common password_too_long password_too_short prompt_changed prompt_not_found prompt_too_large prompts_exhausted same_email same_password " +
	"limit_request_not_found limit_request_open session_not_found shares_exhausted too_many_requests ticket_expired too_many_streams totp_disabled totp_enabled totp_expired " +
	"too_many_credentials traffic_control_unavailable trial_daily_limit trial_disposable trial_domain_limit trial_had trial_network_limit variable_missing " +
	"verification_off version_not_found version_unreadable wrong_password " +
	"catalog_changed invalid_catalog invalid_form nothing_announced provider_exists provider_not_found route_not_found setup_done test_running too_many_models too_many_tests " +
	"invalid_once job_not_found job_not_retryable job_running promo_exists promo_not_found promo_redeemed promo_used_up run_not_found too_many_views view_exists view_not_found view_too_long "

func TestEveryErrorCodeHasItsPlace(t *testing.T) {
	t.Parallel()
	places := headings(docs.Find("errors"))
	known := map[string]bool{}
	for _, e := range docs.ErrorCodes() {
		known[e.Code] = true
		if !slices.Contains(places, e.Code) || docs.ErrorPath(e.Code) != "/console/docs/errors#"+e.Code {
			t.Errorf("%s has no place on the page", e.Code)
		}
		if e.Means == "" || e.Do == "" || e.Retry == "" {
			t.Errorf("%s is not explained", e.Code)
		}
	}
	used := codes(t)
	for code, where := range used {
		if !known[code] && !strings.Contains(pagesOnly, " "+code+" ") {
			t.Errorf("%s: the error code %s is not in app/docs/errors.yaml", where, code)
		}
	}
	if len(used) < 100 {
		t.Errorf("only %d codes found", len(used))
	}
	if got := docs.ErrorPath("a provider's"); got != "/console/docs/errors" {
		t.Errorf("a code of others leads to %s", got)
	}
}

// codes are the words that stand where an error is made, in all of the program but its simulator.
func codes(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, dir := range []string{"../../app", "../../api", "../../billing"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && (d.Name() == "simulator" || d.Name() == "testdata" || strings.HasSuffix(d.Name(), "test")) {
				if err == nil {
					err = fs.SkipDir
				}
				return err
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			collect(file, func(code string) { found[code] = path })
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// collect tells the second argument of app.Errorf wherever it is a word, and constants whose names say that they are codes.
func collect(file *ast.File, tell func(code string)) {
	word := func(e ast.Expr) {
		if text, ok := e.(*ast.BasicLit); ok && text.Kind == token.STRING {
			if s, err := strconv.Unquote(text.Value); err == nil && regexp.MustCompile(`^[a-z][a-z_]+$`).MatchString(s) {
				tell(s)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CallExpr:
			if f, ok := x.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Errorf" && len(x.Args) > 2 {
				word(x.Args[1])
			}
		case *ast.ValueSpec:
			for i, name := range x.Names {
				if strings.HasPrefix(name.Name, "code") && i < len(x.Values) {
					word(x.Values[i])
				}
			}
		}
		return true
	})
}

func TestSearchFindsPlaces(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]string{
		"quickstart": "/console/docs/quickstart", "model_not_found": "/console/docs/errors#model_not_found", "keep-alives": "/console/docs/streaming#keep-alives",
		"Idempotency-Key": "/console/docs/billing#never-pay-twice", "spritesheet": "/console/docs/videos#download",
	} {
		hits := docs.Search(q, 20)
		if !slices.ContainsFunc(hits, func(h docs.Hit) bool { return h.Path == want && h.Title != "" && h.Excerpt != "" }) {
			t.Errorf("%q does not find %s: %+v", q, want, hits)
		}
	}
	for _, q := range []string{"", "   ", "zebra crossing", strings.Repeat("ü", 300), "\x00", "e"} {
		if hits := docs.Search(q, 3); len(hits) > 3 || q != "e" && len(hits) > 0 {
			t.Errorf("%.20q finds %+v", q, hits)
		}
	}
}
