package stories

import (
	"time"

	"github.com/a-h/templ"

	"umg/views"
	settingpages "umg/views/settings"
	signinpages "umg/views/signin"
)

const (
	signInGroup   = "Sign-up and sign-in"
	profileGroup  = "Settings: profile"
	securityGroup = "Settings: security"
)

// signIn are the stories of signing in with a code, and of a lost password.
func signIn() []Story {
	code := func(name, title string, status int, v signinpages.SecondStep) Story {
		return Story{Name: name, Group: signInGroup, Title: title, Status: status, Out: true, Path: "/console/sign-in/code",
			View: func(s views.Shell) templ.Component {
				v.Shell = s
				return signinpages.CodePage(v)
			}}
	}
	forgot := func(name, title string, status int, v signinpages.Forgot) Story {
		return Story{Name: name, Group: signInGroup, Title: title, Status: status, Out: true, Path: "/console/forgot",
			View: func(s views.Shell) templ.Component {
				v.Shell = s
				return signinpages.ForgotPage(v)
			}}
	}
	reset := func(name, title string, status int, v signinpages.Reset) Story {
		return Story{Name: name, Group: signInGroup, Title: title, Status: status, Out: true, Path: "/console/reset",
			View: func(s views.Shell) templ.Component {
				v.Shell = s
				return signinpages.ResetPage(v)
			}}
	}
	const expired = "This link has expired: it worked for 1 hour. Ask for a new one."
	return []Story{
		code("sign-in-code", "The second step", 200, signinpages.SecondStep{Next: "/console/keys"}),
		code("sign-in-code-wrong", "The second step, wrong code", 422, signinpages.SecondStep{
			CodeError: "That code is not right. Codes change every 30 seconds: type the one shown now, and check the clock of your device.",
		}),
		code("sign-in-code-throttled", "The second step, throttled", 429, signinpages.SecondStep{Wait: 8 * time.Second}),
		code("sign-in-recovery", "The second step, with a recovery code", 422, signinpages.SecondStep{Recovery: true,
			CodeError: "That recovery code is not right, or it was used already."}),
		forgot("forgot", "A lost password", 200, signinpages.Forgot{}),
		forgot("forgot-error", "A lost password, no address", 422, signinpages.Forgot{Email: "ada@",
			EmailError: "That is not an e-mail address such as name@example.com."}),
		forgot("forgot-throttled", "A lost password, throttled", 429, signinpages.Forgot{Email: Email, Wait: 4 * time.Minute}),
		forgot("forgot-sent", "A lost password, link on its way", 200, signinpages.Forgot{
			Email: `<script>alert("ada")</script>@example.com`, Sent: true,
		}),
		forgot("forgot-no-mail", "A lost password, where no mail is sent", 200, signinpages.Forgot{NoMail: true}),
		reset("reset", "A new password", 200, signinpages.Reset{Token: "an-example", Email: Email}),
		reset("reset-short", "A new password, too short", 422, signinpages.Reset{
			Token: "an-example", Email: Email, PasswordError: "A password has at least 12 characters.",
		}),
		reset("reset-expired", "A new password, the link has expired", 409, signinpages.Reset{Problem: expired}),
		reset("reset-done", "A new password, set", 200, signinpages.Reset{Email: Email, Done: true}),
	}
}

func profile() []Story {
	page := func(name, title string, status int, v settingpages.Profile) Story {
		return Story{Name: name, Group: profileGroup, Title: title, Status: status, Path: "/console/settings",
			View: func(s views.Shell) templ.Component {
				v.Shell, v.Email = s, Email
				return settingpages.ProfilePage(v)
			}}
	}
	change := func(name, title string, status int, out bool, v signinpages.EmailChange) Story {
		return Story{Name: name, Group: profileGroup, Title: title, Status: status, Out: out, Path: "/console/email",
			View: func(s views.Shell) templ.Component {
				v.Shell = s
				return signinpages.EmailChangePage(v)
			}}
	}
	return []Story{
		page("profile", "Profile", 200, settingpages.Profile{Name: "Ada Lovelace", PasswordAt: ago(40 * 24 * time.Hour)}),
		page("profile-new", "Profile, nothing filled in", 200, settingpages.Profile{}),
		page("profile-pending", "Profile, a new address waits", 200, settingpages.Profile{
			Name: `<b>"Ada"</b>`, Pending: "countess.of.lovelace@example.org",
		}),
		page("profile-no-mail", "Profile, where no mail is sent", 200, settingpages.Profile{NoMail: true}),
		page("profile-errors", "Profile, everything refused", 422, settingpages.Profile{
			Name: "Ada\u200b", NameError: "A name has at most 80 printable characters.",
			NewEmail: "ada@", NewEmailError: "That is not an e-mail address such as name@example.com.",
			EmailPasswordError: "That is not your password.",
			CurrentError:       "That is not your password.", PasswordError: "A password has at least 12 characters.",
		}),
		page("profile-throttled", "Profile, throttled", 429,
			settingpages.Profile{PasswordFormError: "Too many attempts. Wait 8 seconds and try again."}),
		change("email-change", "A link to another address", 200, false, signinpages.EmailChange{
			Token: "an-example", From: Email, To: "countess@example.org",
		}),
		change("email-change-out", "A link to another address, not signed in", 200, true, signinpages.EmailChange{
			Token: "an-example", From: Email, To: "countess@example.org", Password: signinpages.LinkPassword{Asked: true},
		}),
		change("email-change-wrong-out", "A link to another address, wrong password", 422, true, signinpages.EmailChange{
			Token: "an-example", From: Email, To: "countess@example.org",
			Password: signinpages.LinkPassword{Asked: true, Error: "That is not the password of this account."},
		}),
		change("email-change-used", "A link to another address, used", 409, false, signinpages.EmailChange{
			Problem: "This link was used, or another change has made it void. Ask for a new one if you need it."}),
		change("email-change-done", "Another address", 200, false, signinpages.EmailChange{To: "countess@example.org", Done: true}),
	}
}

// recoveryCodes are made up.
func recoveryCodes() []string {
	return []string{"7k2mq-x9c4d", "p0wzt-3h8ra", "v5e1n-gj6ys", "b2c8k-0tq7m", "m4r9x-wd5hz", "z1s6f-a8k3e", "q7v0j-c2n9t", "h3y5g-r4x8p",
		"t9a2w-e6m1b", "d8n4s-k7z0v"}
}

// exampleSessions are three sessions of one user, the current one first. One has a hostile user agent.
func exampleSessions() []settingpages.Session {
	const (
		firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
		safari  = "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Version/19.0 Mobile/15E148 Safari/604.1"
	)
	here := settingpages.Session{ID: "ses_01kb4a00000000000000000001", Agent: firefox, IP: "198.51.100.23",
		CreatedAt: at(3 * 24 * time.Hour), SeenAt: at(0), Current: true}
	return []settingpages.Session{
		here,
		{ID: "ses_01kb4a00000000000000000002", Agent: safari, IP: "2001:db8:85a3::8a2e:370:7334",
			CreatedAt: at(9 * 24 * time.Hour), SeenAt: at(2 * time.Hour)},
		{ID: "ses_01kb4a00000000000000000003", Agent: `<img src=x onerror=alert(1)>`, IP: "203.0.113.9", CreatedAt: at(26 * 24 * time.Hour),
			SeenAt: at(11 * 24 * time.Hour)},
	}
}

func security() []Story {
	many := exampleSessions()
	here := many[0]
	page := func(name, title string, status int, view func(views.Shell) templ.Component) Story {
		return Story{Name: name, Group: securityGroup, Title: title, Status: status, Path: "/console/settings/security", View: view}
	}
	overview := func(name, title string, v settingpages.Security) Story {
		return page(name, title, 200, func(s views.Shell) templ.Component {
			v.Shell = s
			return settingpages.SecurityPage(v)
		})
	}
	setup := func(name, title string, status int, v settingpages.TOTPSetup) Story {
		return page(name, title, status, func(s views.Shell) templ.Component {
			v.Shell, v.Secret = s, "JBSW Y3DP EHPK 3PXP JBSW Y3DP EHPK 3PXP"
			v.Picture, _ = settingpages.QRCode("otpauth://totp/Unified%20Model%20Gateway:ada@example.com?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP")
			return settingpages.TOTPSetupPage(v)
		})
	}
	proof := func(name, title string, status int, v settingpages.SecurityProof) Story {
		return page(name, title, status, func(s views.Shell) templ.Component {
			v.Shell = s
			return settingpages.SecurityProofPage(v)
		})
	}
	codes := func(name, title string, enabled bool) Story {
		return page(name, title, 200, func(s views.Shell) templ.Component {
			return settingpages.RecoveryCodesPage(settingpages.RecoveryCodes{Shell: s, Codes: recoveryCodes(), Enabled: enabled})
		})
	}
	return []Story{
		overview("security", "No second step, one session", settingpages.Security{Sessions: []settingpages.Session{here}}),
		overview("security-on", "A second step, and several sessions", settingpages.Security{
			EnabledAt: ago(40 * 24 * time.Hour), CodesLeft: 9, Sessions: many,
		}),
		overview("security-few", "Recovery codes used up", settingpages.Security{EnabledAt: ago(40 * 24 * time.Hour), Sessions: many}),
		overview("security-operator", "An operator who must set up a second step", settingpages.Security{
			Sessions: []settingpages.Session{here}, Operator: true,
		}),
		setup("totp", "Setting up sign-in codes", 200, settingpages.TOTPSetup{}),
		setup("totp-operator", "Setting up sign-in codes, as an operator", 200, settingpages.TOTPSetup{Operator: true}),
		setup("totp-wrong", "Setting up sign-in codes, wrong code", 422, settingpages.TOTPSetup{
			CodeError: "That code is not right. Codes change every 30 seconds: type the one shown now, and check the clock of your device."}),
		setup("totp-throttled", "Setting up sign-in codes, throttled", 429, settingpages.TOTPSetup{
			CodeError: "Too many attempts. Wait 8 seconds and try again.", Throttled: true}),
		codes("recovery-codes", "Recovery codes, for the first time", true),
		codes("recovery-codes-renewed", "Recovery codes, renewed", false),
		proof("totp-off", "Turning sign-in codes off", 200, settingpages.SecurityProof{}),
		proof("totp-off-wrong", "Turning sign-in codes off, refused", 422, settingpages.SecurityProof{
			PasswordError: "That is not your password.", CodeError: "This code was used already. Wait for the next one."}),
		proof("codes-renew", "Renewing recovery codes", 200, settingpages.SecurityProof{What: settingpages.Renew}),
		proof("codes-renew-throttled", "Renewing recovery codes, throttled", 429, settingpages.SecurityProof{What: settingpages.Renew,
			FormError: "Too many attempts. Wait 8 seconds and try again."}),
	}
}
