package stories

import (
	"github.com/a-h/templ"

	"umg/app"
	"umg/views"
)

const (
	developerRights = app.Spend | app.UseVideos | app.UseAssets | app.ReadModels | app.ReadUsage | app.UseWebhooks | app.ManageKeys
	billingRights   = app.ReadModels | app.ReadUsage | app.ManageMoney
)

// as shows a story to a user with another role.
func as(role string, rights app.Rights, name, title string, s Story) Story {
	before := s.Adjust
	s.Name, s.Group, s.Title = name, "Roles", title
	s.Adjust = func(shell *views.Shell) {
		if before != nil {
			before(shell)
		}
		shell.Viewer.Role, shell.Viewer.Rights, shell.Viewer.Account = role, rights, "Analytical Engines"
	}
	return s
}

// roles is what pages are for those whose role does not include all of them.
func roles() []Story {
	found := func(name string, from []Story) Story {
		for _, s := range from {
			if s.Name == name {
				return s
			}
		}
		panic("stories: there is no story " + name)
	}
	refused := Story{Status: 403, Path: "/console/keys", View: func(s views.Shell) templ.Component {
		return views.RoleRefusedPage(views.Failure{Shell: s, Status: 403,
			Message: "Your role in this account is billing, which does not include this. An owner or admin of the account can change your role."})
	}}
	return []Story{
		as("billing", billingRights, "role-overview", "The overview, for billing", found("overview-busy", overview())),
		as("billing", billingRights, "role-overview-low", "Little credit, for billing", found("overview-low", overview())),
		as("billing", billingRights, "role-model", "A model, for billing", found("model", models())),
		as("billing", billingRights, "role-not-found", "Not found, for billing", found("not-found", trouble())),
		as("billing", billingRights, "role-refused", "A page for other roles", refused),
		as("billing", billingRights, "role-usage-empty", "No usage, for billing", found("usage-empty", usage())),
		as("developer", developerRights, "role-billing", "Billing, for a developer", found("billing", billing())),
		as("developer", developerRights, "role-billing-empty", "No credit left, for a developer", found("billing-empty", billing())),
		as("developer", developerRights, "role-keys", "Keys, for a developer", found("keys", keyLists())),
	}
}
