package app

// Role is the role of a user in an account.
type Role string

// These are the roles.
const (
	RoleOwner     Role = "owner"
	RoleAdmin     Role = "admin"
	RoleDeveloper Role = "developer"
	RoleBilling   Role = "billing"
)

// roles maps each role to its rights and to its description.
var roles = []struct {
	role    Role
	rights  Rights
	meaning string
}{
	{RoleOwner, OwnAccount | adminRights, "Everything, including owners and account deletion"},
	{RoleAdmin, adminRights, "Everything except managing owners and deleting the account"},
	{RoleDeveloper, Spend | UseVideos | UseAssets | ReadModels | ReadUsage | UseWebhooks | ManageKeys |
		ReadContent, "Models, playground, videos, assets, keys, webhooks and usage"},
	{RoleBilling, ReadModels | ReadUsage | ManageMoney, "Credit, payments and usage"},
}

const adminRights = Spend | UseVideos | UseAssets | ReadModels | ReadUsage | UseWebhooks | ManageKeys |
	ManageMembers | ManageMoney | ManageAccount | ReadContent

// Roles are all roles. The one with the most rights is first.
func Roles() []Role {
	list := make([]Role, len(roles))
	for i, r := range roles {
		list[i] = r.role
	}
	return list
}

// Rights are what a role may do. An unknown role has none.
func (r Role) Rights() Rights {
	for _, row := range roles {
		if row.role == r {
			return row.rights
		}
	}
	return 0
}

// Meaning describes to people what a role may do.
func (r Role) Meaning() string {
	for _, row := range roles {
		if row.role == r {
			return row.meaning
		}
	}
	return ""
}
