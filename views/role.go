package views

import "umg/app"

// May reports whether the reader's role allows all of need. Visitors may nothing.
func (s Shell) May(need app.Rights) bool { return s.Viewer != nil && s.Viewer.Rights.Has(need) }

// rolePower is one thing that a role may do, and where.
type rolePower struct {
	need       app.Rights
	text, href string
}

// rolePowers are what those who neither call models nor manage keys may still find something to do with.
var rolePowers = []rolePower{
	{app.ManageMoney, "Buy credit and decide how it is bought", BillingPath},
	{app.ReadUsage, "See what was used and what it cost", UsagePath},
	{app.ReadUsage, "Look through every request", RequestsPath},
	{app.ReadModels, "Compare models and their prices", ModelsPath},
}

// powers are those of the reader.
func (s Shell) powers() []rolePower {
	var list []rolePower
	for _, p := range rolePowers {
		if s.May(p.need) {
			list = append(list, p)
		}
	}
	return list
}

// roleTitle is the heading for a user whose role allows only a part.
func (s Shell) roleTitle() string {
	if s.Viewer == nil || s.Viewer.Role == "" {
		return "You have no role in this account"
	}
	return "Your role in this account is " + s.Viewer.Role
}
