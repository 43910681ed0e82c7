package stories

import (
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	homepages "umg/views/home"
	keypages "umg/views/keys"
	signinpages "umg/views/signin"
)

// verifyStory is the page of a link that verifies an address.
func verifyStory(name, title string, status int, out bool, v signinpages.Verify) Story {
	return Story{Name: name, Group: "Verifying an address", Title: title, Status: status, Out: out, Path: "/console/verify",
		View: func(s views.Shell) templ.Component {
			v.Shell = s
			return signinpages.VerifyPage(v)
		}}
}

// newcomerStory is the overview of an account that has not had its first credit.
func newcomerStory(name, title string, u views.Unverified) Story {
	return Story{Name: name, Group: "Verifying an address", Title: title, Status: 200, Path: "/console",
		View: func(s views.Shell) templ.Component {
			o := newcomer(s)
			o.Credit, o.Balance = &views.Credit{}, views.Balance{Known: true, LowAt: app.Dollar, NeverFunded: true}
			o.Unverified, o.Onboarding.Unfunded = &u, true
			o.Onboarding.Verifies, o.Onboarding.Unverified = true, &u
			return homepages.OverviewPage(o)
		}}
}

func verify() []Story {
	trial := &views.Trial{Amount: 5 * app.Dollar, Days: 30, Verified: true}
	waiting := newcomerStory("overview-unverified", "The overview until then", views.Unverified{Email: Email, Trial: trial})
	claim := newcomerStory("overview-claim", "Trial credit not taken yet", views.Unverified{Email: Email, Trial: trial, Claim: true})
	demo := newcomerStory("overview-unverified-demo", "The overview of a demo, which keeps its mails",
		views.Unverified{Email: Email, Trial: trial, Mail: "/console/outbox/mail_1"})
	frozen := Story{Name: "keys-frozen", Group: "API keys", Title: "The account is frozen", Status: 200, Path: "/console/keys",
		Adjust: func(s *views.Shell) {
			s.Frozen = &views.Freeze{Reason: "A payment of 3 Nov 2026 is disputed by the bank that made it."}
		},
		View: func(s views.Shell) templ.Component {
			return keypages.ListPage(keypages.List{Shell: s, Keys: exampleKeys()})
		}}
	return []Story{
		{Name: "sign-up-verified", Group: "Sign-up and sign-in", Title: "Sign up, credit after verification", Status: 200, Out: true,
			Path: "/console/sign-up",
			View: func(s views.Shell) templ.Component {
				return signinpages.SignUpPage(signinpages.Entry{Shell: s, Trial: trial})
			}},
		verifyStory("verify", "A link that works", 200, false, signinpages.Verify{Token: "an-example", Email: Email, Trial: trial}),
		verifyStory("verify-out", "A link that works, not signed in", 200, true, signinpages.Verify{
			Token: "an-example", Email: Email, Trial: trial, Password: signinpages.LinkPassword{Asked: true},
		}),
		verifyStory("verify-wrong-out", "A link that works, wrong password", 422, true, signinpages.Verify{
			Token: "an-example", Email: Email, Trial: trial,
			Password: signinpages.LinkPassword{Asked: true, Error: "That is not the password of this account."},
		}),
		verifyStory("verify-throttled-out", "A link that works, throttled", 429, true, signinpages.Verify{
			Token: "an-example", Email: Email, Trial: trial, Password: signinpages.LinkPassword{Asked: true, Wait: 8 * time.Second},
		}),
		verifyStory("verify-other", "A link that works, signed in as another user", 200, false, signinpages.Verify{
			Token: "an-example", Email: "countess.of.lovelace@example.org", Password: signinpages.LinkPassword{Asked: true},
		}),
		verifyStory("verify-waiting", "Waiting for the link", 200, false, signinpages.Verify{Email: Email, Resend: true, Trial: trial}),
		verifyStory("verify-expired", "A link that has expired", 409, false, signinpages.Verify{
			Email: Email, Resend: true, Title: "This link does not work",
			Problem: "This link has expired: it worked for 24 hours. Ask for a new one.",
		}),
		verifyStory("verify-unknown-out", "A link that is not complete", 404, true, signinpages.Verify{
			Title: "This link does not work", Problem: "This link is not complete. Copy it whole from the mail, or ask for a new one.",
		}),
		verifyStory("verify-done-out", "Verified, not signed in", 200, true, signinpages.Verify{
			Email: Email, Done: true, Title: Email + " is verified. $5.00 of trial credit was added to your account.",
		}),
		verifyStory("verify-claim", "Verified, trial credit to be had", 200, false,
			signinpages.Verify{Email: Email, Done: true, Trial: trial, Claim: true}),
		waiting, claim, demo, frozen,
	}
}
