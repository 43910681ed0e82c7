package stories

import (
	"time"

	"github.com/a-h/templ"

	"umg/views"
	operatorpages "umg/views/operator"
)

func exampleMails() []operatorpages.OutboxMail {
	return []operatorpages.OutboxMail{
		{
			ID: "mail_01kb4a00000000000000000001", Kind: "verify_email", To: Email, Subject: "Confirm your e-mail address",
			State: operatorpages.MailKept,
			Text: "Confirm your e-mail address\n\nSomeone, hopefully you, signed up with this address.\n\nConfirm it:\n" +
				"https://models.example.com/console/verify?token=made-up&next=%2Fconsole.\n\n--\nIf it was not you, do nothing.\n",
			HTML:      "<!DOCTYPE html>\n<p>A user signed up.</p>\n<script>alert(1)</script>",
			CreatedAt: at(12 * time.Second),
		},
		{
			ID: "mail_01kb4a00000000000000000002", Kind: "low_balance", To: "a-rather-long-address-that-has-to-wrap-somewhere@subdomain.example.com",
			Subject: "Your balance is below $5.00", Text: "Add credit, or calls are refused.\n", State: operatorpages.MailSent,
			CreatedAt: at(26 * time.Hour),
		},
		{
			ID: "mail_01kb4a00000000000000000003", Kind: "receipt", To: "unknown@example.com", Subject: "Your receipt", Text: "Thank you.\n",
			State: operatorpages.MailFailed, LastError: "550 5.1.1 user unknown", CreatedAt: at(50 * time.Hour),
		},
		{
			ID: "mail_01kb4a00000000000000000004", Kind: "receipt", To: Email, Subject: "Your receipt", Text: "Thank you.\n",
			State: operatorpages.MailQueued, CreatedAt: at(51 * time.Hour),
		},
	}
}

func outbox() []Story {
	list := exampleMails()
	page := func(name, title string, out bool, list []operatorpages.OutboxMail) Story {
		return Story{Name: name, Group: "Outbox", Title: title, Status: 200, Out: out, Path: "/console/outbox",
			View: func(s views.Shell) templ.Component {
				return operatorpages.OutboxPage(operatorpages.Outbox{Shell: s, List: list})
			}}
	}
	one := func(name, title string, m operatorpages.OutboxMail) Story {
		return Story{Name: name, Group: "Outbox", Title: title, Status: 200, Out: true, Path: "/console/outbox/" + m.ID,
			View: func(s views.Shell) templ.Component {
				return operatorpages.OutboxMailPage(operatorpages.OutboxDetail{Shell: s, Mail: m})
			}}
	}
	return []Story{
		page("outbox-empty", "No mail yet", true, nil),
		page("outbox", "Mails in every state", false, list),
		one("outbox-mail", "A mail with a link and a page that would run a script", list[0]),
		one("outbox-mail-failed", "A mail that was refused", list[2]),
	}
}
