package apikey

import (
	"testing"
	"time"

	"umg/app"
	"umg/app/mail"
	"umg/app/mail/mailtest"
)

func TestNamesInMailsAboutKeysAreHarmless(t *testing.T) {
	t.Parallel()
	const base, reader = "https://gateway.example", "reader@example.com"
	for _, name := range mailtest.Hostile() {
		key := Key{ID: "key_1", Spec: Spec{Name: name}, Secret: Secret{LastFour: "abcd"}}
		budget, subject := passedBudget{
			KeyID: "key_1", Name: name, LastFour: "abcd", Limit: app.Dollar, Spent: app.Dollar, Reached: 80, Period: "day", Start: time.Now(),
		}.letter(base)
		for _, one := range []struct {
			letter        mail.Template
			subject, kind string
		}{
			{budget, subject, "key_budget"},
			{leakLetter(key, base, "It was found at "+mail.Quote(name)+"."), leakSubject, "key_leaked"},
		} {
			m, err := one.letter.To(reader, one.subject, one.kind)
			must(t, err)
			mailtest.Check(t, m, base, reader, "ada@example.com")
		}
	}
}
