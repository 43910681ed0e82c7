package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"umg/app/mail/mailtest"
	"umg/app/webhook"
)

// letters are the functions that write a mail, as FOLDER.FUNCTION. The value is the test that passes hostile names to it, or
// the reason why it shows no text from another user.
var letters = map[string]string{
	"app/account.inviteLetter": "TestNamesInMailsOfAccountsAreHarmless", "app/account.endLetter": "TestNamesInMailsOfAccountsAreHarmless",
	"app/apikey.letter": "TestNamesInMailsAboutKeysAreHarmless", "app/apikey.leakLetter": "TestNamesInMailsAboutKeysAreHarmless",
	"app/account.emailLetter": "TestNamesInMailsOfAccountsAreHarmless", "app/account.emailTakenLetter": "TestNamesInMailsOfAccountsAreHarmless",
	"cmd/gateway.endpointLetter": "TestNamesInMailsOfEndpointsAreHarmless",

	"app/account.notice":     "its texts are ours; it names the reader's own address",
	"app/account.linkLetter": "it names the reader's own address",
	"app/account.AskReset":   "it names the reader's own address",

	"app/notification.send": "models are named by the catalog",

	"app/notification.endingLetter": "models are named by the catalog",

	"billing/stripe.notifyOne":   "amounts only",
	"billing/stripe.capMail":     "amounts only",
	"billing/stripe.autoOffMail": "the reason is ours",
}

// TestEveryMailIsKnown fails for a new mail until its row in letters says what it shows.
func TestEveryMailIsKnown(t *testing.T) {
	t.Parallel()
	found, tests := []string{}, map[string]bool{}
	for _, root := range sourceRoots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../../")
			for _, d := range file.Decls {
				f, isFunc := d.(*ast.FuncDecl)
				switch {
				case !isFunc:
				case strings.HasSuffix(path, "_test.go"):
					tests[f.Name.Name] = true
				case writesMail(f):
					found = append(found, dir+"."+f.Name.Name)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range found {
		if letters[name] == "" {
			t.Errorf("%s writes a mail and is not in the list", name)
		}
	}
	for name, why := range letters {
		if !slices.Contains(found, name) {
			t.Errorf("%s is in the list and writes no mail", name)
		}
		if strings.HasPrefix(why, "Test") && !tests[why] {
			t.Errorf("%s: there is no %s", name, why)
		}
	}
}

// writesMail reports whether a function creates a mail itself.
func writesMail(f *ast.FuncDecl) (writes bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		literal, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		of, ok := literal.Type.(*ast.SelectorExpr)
		if ok && types(of.X) == "mail" && (of.Sel.Name == "Template" || of.Sel.Name == "Message") && len(literal.Elts) > 0 {
			writes = true
		}
		return true
	})
	return writes
}

func TestNamesInMailsOfEndpointsAreHarmless(t *testing.T) {
	t.Parallel()
	const base, reader = "https://gateway.example", "reader@example.com"
	for _, name := range mailtest.Hostile() {
		n := webhook.Notice{EndpointID: "whe_1", Name: name, Address: "https://evil.example/" + name, Text: "It answered 410 Gone."}
		m, err := endpointLetter(n, "is disabled", base).To(reader, "A webhook endpoint is disabled", "webhook_disabled")
		if err != nil {
			t.Fatal(err)
		}
		mailtest.Check(t, m, base, reader)
	}
}
