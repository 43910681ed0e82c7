package catalog

import (
	"slices"
	"strings"
	"testing"
)

// southAuth is the text of smallFile with members for its second provider.
func southAuth(t *testing.T, members string) File {
	t.Helper()
	return parse(t, with(t, "name: South", "name: South, "+members))
}

func TestAuthIsChecked(t *testing.T) {
	t.Parallel()
	const key = `credential: "${KEY}", `
	for _, k := range []struct{ members, path, says string }{
		{key + "auth: {header: x-key}", "auth.kind", "is missing"},
		{key + "auth: {kind: basic}", "auth.kind", `"basic" is not one of bearer, header, query, none, sigv4, google, entra, jwt, google_metadata`},
		{key + "auth: {kind: header}", "auth.header", "is missing"},
		{key + "auth: {kind: header, header: X-Key}", "auth.header", "in lower case"},
		{key + "auth: {kind: query}", "auth.parameter", "is missing"},
		{key + "auth: {kind: query, parameter: 'a&b'}", "auth.parameter", "letters"},
		{key + "auth: {kind: sigv4, service: bedrock}", "auth.region", "is missing; auth of kind sigv4 needs it"},
		{key + "auth: {kind: sigv4, region: us-east-1}", "auth.service", "is missing"},
		{key + "auth: {kind: sigv4, service: bedrock, region: 'us east'}", "auth.region", "small letters"},
		{key + "auth: {kind: google}", "auth.scope", "is missing"},
		{key + "auth: {kind: google, scope: ' a'}", "auth.scope", "space between"},
		{key + "auth: {kind: entra, client_id: c, scope: s}", "auth.tenant", "is missing"},
		{key + "auth: {kind: entra, tenant: t, scope: s}", "auth.client_id", "is missing"},
		{key + "auth: {kind: entra, tenant: t, client_id: c}", "auth.scope", "is missing"},
		{key + "auth: {kind: entra, tenant: t/../u, client_id: c, scope: s}", "auth.tenant", "directory"},
		{key + "auth: {kind: entra, tenant: t, client_id: c, scope: s, authority: 'https://a/b'}", "auth.authority", "without a path"},
		{key + "auth: {kind: entra, tenant: t, client_id: c, scope: s, authority: 'http://login.example'}", "auth.authority", "https"},
		{key + "auth: {kind: bearer, region: us-east-1}", "auth.region", "no member of auth of kind bearer"},
		{key + "auth: {kind: jwt, scope: s}", "auth.scope", "no member"},
		{key + "credential_header: x-key, auth: {kind: bearer}", "credential_header", "together with auth"},
		{key + "auth: {kind: none}", "credential", "never sent"},
		{key + "auth: {kind: google_metadata, scope: s}", "credential", "never sent"},
		{"auth: {kind: google_metadata}", "auth.scope", "is missing"},
		{"auth: {kind: query, parameter: key}", "credential", "is missing; auth of kind query needs it"},
		{"auth: {kind: sigv4, service: bedrock, region: us-east-1}", "credential", "is missing"},
		{"auth: {kind: jwt}", "credential", "is missing"},
	} {
		all := Check(southAuth(t, k.members))
		if len(all) != 1 || !slices.ContainsFunc(all, func(err error) bool {
			p, ok := err.(FileError)
			return ok && p.Path == "providers[1]."+k.path && strings.Contains(p.Text, k.says)
		}) {
			t.Errorf("%s: %q", k.members, all)
		}
	}
	if _, err := ParseFile([]byte(with(t, "name: South", "name: South, auth: {kind: bearer, password: x}"))); err == nil {
		t.Error("an unknown member is accepted")
	}
}

// goodAuths are correct settings of every kind.
var goodAuths = []string{
	"auth: {kind: bearer}", "auth: {kind: none}",
	`credential: "${KEY}", auth: {kind: header, header: x-api-key}`,
	`credential: "${KEY}", auth: {kind: query, parameter: key}`,
	`credential: "${KEY}", auth: {kind: sigv4, service: bedrock, region: us-east-1}`,
	`credential: "${KEY}", auth: {kind: google, scope: "https://www.googleapis.com/auth/cloud-platform https://b.example"}`,
	`credential: "${KEY}", auth: {kind: entra, tenant: contoso.example, client_id: 11-22, scope: https://cognitiveservices.azure.com/.default}`,
	`credential: "${KEY}", auth: {kind: entra, tenant: t, client_id: c, scope: s, authority: "http://127.0.0.1:80"}`,
	`credential: "${KEY}", auth: {kind: jwt}`,
	"auth: {kind: google_metadata, scope: https://www.googleapis.com/auth/cloud-platform}",
	"auth: {kind: google_metadata, scope: s, authority: http://10.0.0.1}",
}

func TestAuthOfEveryKindReachesTheSnapshot(t *testing.T) {
	t.Parallel()
	for _, members := range goodAuths {
		f := southAuth(t, members)
		if all := Check(f); len(all) > 0 {
			t.Errorf("%s: %q", members, all)
			continue
		}
		printed, err := f.Bytes()
		if err != nil || parse(t, string(printed)).Providers[1].Auth != f.Providers[1].Auth {
			t.Errorf("%s is printed as %s, %v", members, printed, err)
		}
		p := resolved(&f.Providers[1], lookup)
		if p.Auth != f.Providers[1].Auth || p.CredentialHeader != p.Auth.Header || p.Unusable != "" {
			t.Errorf("%s: %+v, %q", members, p.Auth, p.Unusable)
		}
	}
}

func TestAuthIsStoredAndCompared(t *testing.T) {
	t.Parallel()
	b := setup(t, lookup)
	b.apply(t, smallFile)
	for _, members := range goodAuths {
		next := southAuth(t, members)
		lines, err := Diff(parse(t, smallFile), next)
		if err != nil || !slices.Contains(lines, "+ provider south auth.kind "+string(next.Providers[1].Auth.Kind)) {
			t.Errorf("%s: %q, %v", members, lines, err)
		}
		if err := Apply(t.Context(), b.db, next); err != nil {
			t.Fatal(err)
		}
		got, err := Export(t.Context(), b.db)
		if err != nil || got.Providers[1].Auth != next.Providers[1].Auth {
			t.Errorf("%s is exported as %+v, %v", members, got.Providers[1].Auth, err)
		}
	}
	if err := Apply(t.Context(), b.db, southAuth(t, `credential: "${KEY}", auth: {kind: sigv4, service: bedrock}`)); err == nil ||
		!strings.Contains(err.Error(), "providers[1].auth.region") {
		t.Errorf("an incomplete member is applied: %v", err)
	}
}

func TestTokensComeOnlyFromSafeAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://oauth2.googleapis.com/token": true, "http://127.0.0.1:8080/token": true, "http://[::1]/t": true,
		"http://oauth2.googleapis.com/token": false, "http://10.0.0.1/token": false, "http://localhost/token": false,
		"https://user:pass@host/token": false, "https://host/token#x": false, "ftp://127.0.0.1/": false, "": false, "/token": false,
	} {
		if IsTokenEndpoint(address) != want {
			t.Errorf("%s: %t", address, !want)
		}
	}
}
