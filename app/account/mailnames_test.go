package account

import (
	"testing"

	"umg/app"
	"umg/app/mail"
	"umg/app/mail/mailtest"
)

// TestNamesInMailsOfAccountsAreHarmless feeds hostile names to every letter of this package that shows a name.
func TestNamesInMailsOfAccountsAreHarmless(t *testing.T) {
	t.Parallel()
	const base, reader = "https://gateway.example", "reader@example.com"
	for _, name := range mailtest.Hostile() {
		for _, one := range []struct {
			letter        mail.Template
			subject, kind string
		}{
			{inviteLetter(inviteRow{Account: name, Invitation: Invitation{Email: reader, InvitedBy: "ada@example.com", Role: app.RoleAdmin}}, base+"/i"),
				inviteSubject, "invitation"},
			{endLetter(name, app.RoleDeveloper), endSubject, "account_deleted"},
			{emailLetter("http/evil.example/x@"+"example.com", reader, base+"/e"), "Use this e-mail address to sign in", "change_email"},
			{emailTakenLetter("http/evil.example/x@"+"example.com", reader), "This e-mail address is in use", "change_email"},
		} {
			m, err := one.letter.To(reader, one.subject, one.kind)
			must(t, err)
			mailtest.Check(t, m, base, reader, "ada@example.com")
		}
	}
}
