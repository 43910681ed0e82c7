package stories

import (
	"strings"
	"time"

	"umg/app"
	"umg/views"
	operatorpages "umg/views/operator"
)

func credentialPages() []Story {
	const path = "/console/operator/credentials"
	list := func(name, title string, change func(*operatorpages.Credentials)) Story {
		return operatorStory(name, title, path, view(operatorpages.CredentialsPage, exampleCredentials, change))
	}
	form := func(name, title string, status int, change func(*operatorpages.CredentialForm)) Story {
		s := operatorStory(name, title, path+"/new", view(operatorpages.CredentialFormPage, func(s views.Shell) operatorpages.CredentialForm {
			return operatorpages.CredentialForm{Shell: s}
		}, change))
		s.Status = status
		return s
	}
	remove := func(name, title string, status int, change func(*operatorpages.CredentialDelete)) Story {
		s := operatorStory(name, title, path+"/meridian-main/delete", view(operatorpages.CredentialDeletePage,
			func(s views.Shell) operatorpages.CredentialDelete {
				return operatorpages.CredentialDelete{Shell: s, Credential: exampleCredentials(s).List[2]}
			}, change))
		s.Status = status
		return s
	}
	return []Story{
		list("operator-credentials", "Credentials", func(*operatorpages.Credentials) {}),
		list("operator-credentials-empty", "Credentials, none", func(c *operatorpages.Credentials) { c.List, c.Events = nil, nil }),
		list("operator-credentials-store-error", "Credentials, the store is away", func(c *operatorpages.Credentials) {
			*c = operatorpages.Credentials{Shell: c.Shell, Failure: &views.LoadFailure{RequestID: "req_01kb4a6zt4h2s8j5y7r3w9mvaq"}}
		}),
		list("operator-credentials-hostile", "Credentials, hostile text", func(c *operatorpages.Credentials) {
			long := nastyText + strings.Repeat("averylongwordwithoutanyspace", 12)
			c.List[0].Name, c.List[0].LastFour, c.List[0].ChangedBy = strings.Repeat("a", 63), "<b>\u202e", long
			c.List[0].Providers = []string{long, long, long, long, long}
			c.Events[0].Name, c.Events[0].By, c.Events[0].LastFour = long, long, "<b>\u202e"
		}),
		form("operator-credential-new", "Add a credential", 200, func(*operatorpages.CredentialForm) {}),
		form("operator-credential-replace", "Replace a credential", 200, func(f *operatorpages.CredentialForm) {
			f.Name, f.Replaces = "meridian-main", true
		}),
		form("operator-credential-errors", "Add a credential, fields that are wrong", 422, func(f *operatorpages.CredentialForm) {
			f.Name = nastyText
			f.NameError = "Enter a name of at most 63 letters, digits, dots, hyphens and underscores that begins with a letter or digit."
			f.ValueError = "Provider boreal cannot use the credential: " +
				"auth of kind google needs the JSON of a service account or an authorized user."
			f.Problem = "There are 1000 credentials already. Delete one first."
		}),
		remove("operator-credential-delete", "Delete a credential", 200, func(*operatorpages.CredentialDelete) {}),
		remove("operator-credential-delete-used", "Delete a credential, which a provider uses", 409, func(d *operatorpages.CredentialDelete) {
			d.Credential = exampleCredentials(d.Shell).List[1]
			d.Problem = "The catalog in force names it at meridian. Apply a catalog without it first."
		}),
	}
}

func exampleCredentials(s views.Shell) operatorpages.Credentials {
	return operatorpages.Credentials{
		Shell: s,
		List: []operatorpages.Credential{
			{Name: "boreal-vertex", LastFour: "om\"}", KeyID: "0c5a91be", Unreadable: true, ChangedBy: Email, ChangedAt: at(90 * 24 * time.Hour),
				Providers: []string{"boreal"}},
			{Name: "meridian-main", LastFour: "x7Qd", KeyID: "93d1f04c", ChangedBy: Email, ChangedAt: at(50 * time.Minute),
				Providers: []string{"meridian", "aurora"}},
			{Name: "spare", KeyID: "93d1f04c", ChangedBy: "ada@ops-1", ChangedAt: at(30 * time.Hour)},
		},
		Events: []operatorpages.CredentialEvent{
			{Name: "meridian-main", LastFour: "x7Qd", By: Email, At: at(50 * time.Minute)},
			{Deleted: true, Name: "meridian-old", LastFour: "k2Ha", By: Email, At: at(55 * time.Minute)},
			{Name: "spare", By: "ada@ops-1", At: at(30 * time.Hour)},
		},
	}
}

// spentTraffic has spend caps that are far, near and reached.
func spentTraffic(t *operatorpages.Traffic) {
	day, month := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
	t.Providers[0].Spend = []operatorpages.ProviderSpend{
		{Period: "day", Cap: 50 * app.Dollar, Spent: 12_340_000_000, ResetsAt: day},
		{Period: "month", Cap: 1000 * app.Dollar, Spent: 871_200_000_000, ResetsAt: month},
		{Credential: "sealed:meridian-main", Period: "month", Cap: 400 * app.Dollar, Spent: 400_120_000_000, ResetsAt: month},
	}
	t.Providers[1].Spend = []operatorpages.ProviderSpend{{Period: "day", Cap: 5 * app.Dollar, Spent: 5_010_000_000, ResetsAt: day}}
	for i := range t.Models {
		for j := range t.Models[i].Routes {
			if r := &t.Models[i].Routes[j]; r.Provider == "boreal" && len(r.Seen) > 0 {
				r.Seen[0].State, r.Place, r.Share = operatorpages.RouteCapped, 0, 0
			}
		}
	}
}
