package catalog

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
)

// AuthKind is the way in which a provider takes its credential.
type AuthKind string

// These are the kinds of authentication. The credential of the first ones is one text. The others compute a signature or a token from it.
const (
	AuthBearer AuthKind = "bearer"
	AuthHeader AuthKind = "header"
	AuthQuery  AuthKind = "query"
	AuthNone   AuthKind = "none"
	AuthSigV4  AuthKind = "sigv4"
	AuthGoogle AuthKind = "google"
	AuthEntra  AuthKind = "entra"
	AuthJWT    AuthKind = "jwt"
	// AuthGoogleMetadata is the identity of a machine in Google Cloud, which its metadata server hands out. It has no credential.
	AuthGoogleMetadata AuthKind = "google_metadata"
)

// knownAuthKinds are the kinds in the order of the documentation.
var knownAuthKinds = []string{
	string(AuthBearer), string(AuthHeader), string(AuthQuery), string(AuthNone), string(AuthSigV4), string(AuthGoogle), string(AuthEntra),
	string(AuthJWT), string(AuthGoogleMetadata),
}

// Auth is how a provider takes its credential. The zero value is a header: Authorization: Bearer, or the credential header. Each kind has
// its own members.
type Auth struct {
	Kind AuthKind `yaml:"kind" json:"kind"`
	// Header is the name of the header, for the kind header.
	Header string `yaml:"header,omitempty" json:"header,omitempty"`
	// Parameter is the name in the query, for the kind query.
	Parameter string `yaml:"parameter,omitempty" json:"parameter,omitempty"`
	// Service is the name of the service in a signature, for the kind sigv4.
	Service string `yaml:"service,omitempty" json:"service,omitempty"`
	// Region is the region in a signature, for the kind sigv4.
	Region string `yaml:"region,omitempty" json:"region,omitempty"`
	// Scope lists what a token is good for, separated by spaces, for the kinds google, google_metadata and entra.
	Scope string `yaml:"scope,omitempty" json:"scope,omitempty"`
	// Tenant is the directory of the application, for the kind entra.
	Tenant string `yaml:"tenant,omitempty" json:"tenant,omitempty"`
	// ClientID is the id of the application, for the kind entra.
	ClientID string `yaml:"client_id,omitempty" json:"client_id,omitempty"`
	// Authority is where the kinds entra and google_metadata get tokens. The defaults are AuthorityDefault and MetadataDefault.
	Authority string `yaml:"authority,omitempty" json:"authority,omitempty"`
}

// AuthorityDefault is where tokens of the kind entra come from when the file names no authority.
const AuthorityDefault = "https://login.microsoftonline.com"

// MetadataDefault is the metadata server of a machine in Google Cloud.
const MetadataDefault = "http://metadata.google.internal"

// authMember is a member of Auth: the kinds that have it, and the form of its values.
type authMember struct {
	name       string
	kinds      []AuthKind
	isOptional bool
	form       *regexp.Regexp
	says       string
	value      func(*Auth) string
}

var (
	awsWord   = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
	queryName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	scopeList = regexp.MustCompile(`^[\x21-\x7e]{1,200}( [\x21-\x7e]{1,200}){0,3}$`)
	entraWord = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.-]{0,127}$`)
	authority = regexp.MustCompile(`^https?://[^/?#@]+$`)
)

// authMembers are all members of Auth but its kind.
var authMembers = []authMember{
	{"header", []AuthKind{AuthHeader}, false, headerName, "the name of a header in lower case", func(a *Auth) string { return a.Header }},
	{"parameter", []AuthKind{AuthQuery}, false, queryName, "letters, digits, dots, hyphens and underscores, at most 64",
		func(a *Auth) string { return a.Parameter }},
	{"service", []AuthKind{AuthSigV4}, false, awsWord, "small letters, digits and hyphens", func(a *Auth) string { return a.Service }},
	{"region", []AuthKind{AuthSigV4}, false, awsWord, "small letters, digits and hyphens", func(a *Auth) string { return a.Region }},
	{"scope", []AuthKind{AuthGoogle, AuthGoogleMetadata, AuthEntra}, false, scopeList, "one to four scopes with a space between them",
		func(a *Auth) string { return a.Scope }},
	{"tenant", []AuthKind{AuthEntra}, false, entraWord, "the id or the domain of a directory", func(a *Auth) string { return a.Tenant }},
	{"client_id", []AuthKind{AuthEntra}, false, entraWord, "the id of an application", func(a *Auth) string { return a.ClientID }},
	{"authority", []AuthKind{AuthEntra, AuthGoogleMetadata}, true, authority, "an address without a path",
		func(a *Auth) string { return a.Authority }},
}

// checkAuth checks the member auth of a provider, and the credential that its kind needs.
func (v *FileProvider) checkAuth(p problems) {
	if v.Auth == (Auth{}) {
		return
	}
	at, kind := p.at("auth"), v.Auth.Kind
	switch {
	case kind == "":
		at.addf("kind", "is missing")
		return
	case !slices.Contains(knownAuthKinds, string(kind)):
		at.oneOf("kind", string(kind), knownAuthKinds)
		return
	}
	v.Auth.checkMembers(at)
	if v.CredentialHeader != "" {
		p.addf("credential_header", "cannot be used together with auth; write auth: {kind: header, header: %s}", v.CredentialHeader)
	}
	switch hasCredential := v.Credential != ""; {
	case !kind.HasCredential() && hasCredential:
		p.addf("credential", "is never sent with auth of kind %s; leave it out", kind)
	case kind.HasCredential() && kind != AuthBearer && kind != AuthHeader && !hasCredential:
		p.addf("credential", "is missing; auth of kind %s needs it", kind)
	}
}

// checkMembers checks that the members are those of the kind.
func (a *Auth) checkMembers(p problems) {
	for i := range authMembers {
		m := &authMembers[i]
		value := m.value(a)
		switch hasMember := slices.Contains(m.kinds, a.Kind); {
		case hasMember && value == "" && !m.isOptional:
			p.addf(m.name, "is missing; auth of kind %s needs it", a.Kind)
		case !hasMember && value != "":
			p.addf(m.name, "is no member of auth of kind %s", a.Kind)
		case value != "" && !m.form.MatchString(value):
			p.addf(m.name, "%q must be %s", value, m.says)
		}
	}
	if a.Kind == AuthEntra && authority.MatchString(a.Authority) && !IsTokenEndpoint(a.Authority) {
		p.addf("authority", "must be an https address, because the client secret is sent to it")
	}
}

// HasCredential reports whether providers of a kind have a credential.
func (k AuthKind) HasCredential() bool { return k != AuthNone && k != AuthGoogleMetadata }

// IsTokenEndpoint reports whether a credential may be sent to an address to get a token: the address is https, or http on this machine.
func IsTokenEndpoint(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && err == nil && ip.IsLoopback()
}
