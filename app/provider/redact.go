package provider

import (
	"strings"

	"umg/app"
	"umg/app/provider/credential"
)

// Redact returns a text of the upstream without anything that looks like a credential, an address or an account.
func (a *Reply) Redact(text string) string { return a.target.redact(text) }

// redact returns an upstream's message as a client may read it.
func (t *target) redact(text string) string {
	text = strings.Map(printable, t.access.hide(text))
	list := strings.Fields(text)
	bearer := false
	for i, w := range list {
		if bearer || t.isSensitive(w) {
			list[i] = "[redacted]"
		}
		bearer = strings.EqualFold(strings.Trim(w, `"'(:`), "bearer") // A credential follows.
	}
	return app.Truncate(strings.Join(list, " "), messageRunesMax)
}

// isSensitive reports whether a word of a message may be a credential, an address or an account.
func (t *target) isSensitive(w string) bool {
	lower := strings.ToLower(w)
	if t.url != nil && strings.Contains(lower, strings.ToLower(t.url.Hostname())) ||
		strings.Contains(w, "://") {
		return true
	}
	return looksLikeKey(w)
}

// looksLikeKey reports whether a word of a message may be a credential or an account.
func looksLikeKey(w string) bool {
	for _, part := range strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune(`"'()[]{}<>,;:=`+"`", r) }) {
		part = strings.Trim(part, ".!?")
		lower := strings.ToLower(part)
		for _, prefix := range []string{"sk-", "pk-", "rk-", "key-", "org-", "org_", "proj_", "proj-", "acct_", "user-"} {
			if strings.HasPrefix(lower, prefix) && len(lower) > len(prefix)+3 {
				return true
			}
		}
		if len(part) >= wordBytesMax && hasLettersAndDigits(part) {
			return true
		}
	}
	return false
}

// HasCredential reports whether a text has a part of the credential or a token of it.
func (a *Reply) HasCredential(text string) bool { return a.target.access.isIn(text) }

// hide returns a text without the credential.
func (a *access) hide(text string) string { return credential.Redact(text, a.secrets()) }

// isIn reports whether a text has the credential.
func (a *access) isIn(text string) bool {
	for _, secret := range a.secrets() {
		if strings.Contains(text, secret) {
			return true
		}
	}
	return false
}

// secrets are the texts that no one may see.
func (a *access) secrets() []string {
	if a.source != nil {
		return a.source.Secrets()
	}
	return a.texts
}
