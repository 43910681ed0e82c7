package stories

import (
	"strings"
	"time"

	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
	settingpages "umg/views/settings"
)

// people are the pages about members, invitations and the account.
func people() []Story {
	members := func(name, title string, change func(*settingpages.Members)) Story {
		return Story{Name: name, Group: "Settings", Title: title, Status: 200, Path: "/console/settings/members",
			View: view(settingpages.MembersPage, exampleMembers, change)}
	}
	offer := func(name, title string, change func(*settingpages.Offer)) Story {
		return Story{Name: name, Group: "Settings", Title: title, Status: 200, Path: "/console/invitations",
			View: view(settingpages.OfferPage, func(s views.Shell) settingpages.Offer {
				return settingpages.Offer{Shell: s, Token: "token", Account: "Analytical Engines", Email: Email,
					Role: settingpages.RoleChoice{Role: "developer", Meaning: "Models, playground, videos, assets, keys, webhooks and usage"}}
			}, change)}
	}
	visitor := offer("offer-visitor", "An invitation, opened by a visitor", func(*settingpages.Offer) {})
	visitor.Out = true
	reader := members("members-reader", "Members, for a reader who may not change them", func(m *settingpages.Members) {
		m.Invitations, m.Members[0].Self, m.Members[2].Self, m.Members[2].Email = nil, false, true, Email
		m.Members[0].Email = "owner@example.com"
	})
	reader.Adjust = func(s *views.Shell) { s.Viewer.Rights = app.ReadUsage }
	return append([]Story{
		members("members", "Members", func(*settingpages.Members) {}),
		members("members-errors", "Members, an invitation that cannot be sent", func(m *settingpages.Members) {
			m.Form = settingpages.InviteForm{Email: "charles", Role: "admin",
				EmailError: "Enter a complete e-mail address, such as you@company.com.",
				FormError:  "An account has at most 50 open invitations. Revoke one that is no longer needed."}
		}),
		members("members-link", "Members, a link to pass on", func(m *settingpages.Members) {
			m.Link, m.LinkFor = "https://models.example.com/console/invitations?token=7Hq2LmVx0RtYw9KdBn4ZsEaJ", "george@example.com"
		}),
		members("members-hostile", "Members, hostile text", func(m *settingpages.Members) {
			m.Members[1].Name, m.Members[1].Email = `<script>alert("1")</script>`, `"><img src=x onerror=alert(1)>@example.com`
			m.Invitations[0].Email = `<b>bold</b>@example.com`
		}),
		reader, visitor,
		offer("offer", "An invitation", func(*settingpages.Offer) {}),
		offer("offer-other", "An invitation of another address", func(o *settingpages.Offer) { o.Wrong, o.Email = true, "charles@example.com" }),
		offer("offer-over", "An invitation that has ended", func(o *settingpages.Offer) {
			o.Problem = "This invitation has expired: it worked for 7 days. Ask to be invited again."
		}),
	}, accountStories()...)
}

func exampleMembers(s views.Shell) settingpages.Members {
	return settingpages.Members{
		Shell: s, Form: settingpages.InviteForm{Role: "developer"},
		Members: []settingpages.Member{
			{ID: "user_ada", Email: Email, Name: "Ada Lovelace", Role: "owner", JoinedAt: at(400 * 24 * time.Hour), TwoFactor: true, Self: true},
			{ID: "user_charles", Email: "charles@example.com", Role: "developer", JoinedAt: at(30 * 24 * time.Hour)},
			{ID: "user_mary", Email: "mary@example.com", Name: "Mary", Role: "billing", JoinedAt: at(26 * time.Hour), Fixed: true},
		},
		Invitations: []settingpages.Invitation{{ID: "inv_1", Email: "george@example.com", Role: "admin", InvitedBy: Email,
			SentAt:    at(3 * time.Hour),
			ExpiresAt: Now().Add(165 * time.Hour)}},
		Roles: []settingpages.RoleChoice{
			{Role: "owner", Meaning: "Everything, including owners and account deletion"},
			{Role: "admin", Meaning: "Everything except managing owners and deleting the account"},
			{Role: "developer", Meaning: "Models, playground, videos, assets, keys, webhooks and usage"},
			{Role: "billing", Meaning: "Credit, payments and usage"},
		},
	}
}

func accountStories() []Story {
	account := func(name, title string, change func(*settingpages.AccountSettings)) Story {
		return Story{Name: name, Group: "Settings", Title: title, Status: 200, Path: "/console/settings/account",
			View: func(s views.Shell) templ.Component {
				s.Viewer.Role = "owner"
				a := settingpages.AccountSettings{Shell: s, ID: "acct_01kb4a6zt4h2s8j5y7r3w9mvaq", Name: "Analytical Engines",
					CreatedAt: at(400 * 24 * time.Hour), Members: 3, Owner: true, MayRename: true,
					Content: &settingpages.ContentSettings{Keep: views.KeepNever, Days: "30", MostBytes: 1_000_000_000}}
				change(&a)
				return settingpages.AccountPage(a)
			}}
	}
	remove := func(name, title string, change func(*settingpages.AccountDelete)) Story {
		return Story{Name: name, Group: "Settings", Title: title, Status: 200, Path: "/console/settings/account/delete",
			View: view(settingpages.AccountDeletePage, func(s views.Shell) settingpages.AccountDelete {
				return settingpages.AccountDelete{Shell: s, Name: "Analytical Engines", Credit: 4_998_731_450, CreditKnown: true}
			}, change)}
	}
	leave := Story{Name: "member-leave", Group: "Settings", Title: "Leave the account, as its only owner", Status: 422,
		Path: "/console/settings/members/leave", View: func(s views.Shell) templ.Component {
			return settingpages.MemberRemovePage(settingpages.MemberChange{Shell: s, Leave: true,
				Error: "An account has at least one owner, and this is the only one. Make another member an owner first, or delete the account."})
		}}
	gone := Story{Name: "member-remove", Group: "Settings", Title: "Remove a member", Status: 200,
		Path: "/console/settings/members/user_charles/remove", View: func(s views.Shell) templ.Component {
			return settingpages.MemberRemovePage(settingpages.MemberChange{Shell: s,
				Member: settingpages.Member{ID: "user_charles", Email: "charles@example.com"}})
		}}
	return []Story{
		account("account", "The account", func(a *settingpages.AccountSettings) { a.OnlyOwner = true }),
		account("account-error", "The account, a name that is too long", func(a *settingpages.AccountSettings) {
			a.Name, a.NameError = strings.Repeat("Analytical Engines ", 5), "A name has between 1 and 80 printable characters."
			a.Content.Days, a.Content.DaysError = "365", "Content is kept for 1 to 90 days."
		}),
		account("account-content", "The account, which keeps content", func(a *settingpages.AccountSettings) {
			a.Content.Keep, a.Content.Days, a.Content.KeptBytes = views.KeepAsked, "14", 12_406_000
		}),
		account("account-member", "The account, for a developer", func(a *settingpages.AccountSettings) {
			a.Viewer.Role, a.Owner, a.MayRename = "developer", false, false
			a.Content.Keep = views.KeepAll
		}),
		remove("account-delete", "Delete the account", func(*settingpages.AccountDelete) {}),
		remove("account-delete-errors", "Delete the account, nothing was right", func(d *settingpages.AccountDelete) {
			d.NameError, d.PasswordError = "Type the name of the account exactly as it is shown: Analytical Engines", "This is not your password."
			d.CreditKnown = false
		}),
		leave, gone,
	}
}
