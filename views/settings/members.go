package settings

import (
	"net/url"
	"time"

	"umg/app"
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

const (
	membersPath     = views.SettingsPath + "/members"
	invitationsPath = membersPath + "/invitations"
)

// Members is the page about who works in the account.
type Members struct {
	views.Shell
	Members     []Member
	Invitations []Invitation
	Roles       []RoleChoice // Roles are those that the reader may give; empty for readers who may not manage members.
	Form        InviteForm
	Link        string // Link is that of a new invitation, where the server sends no mail.
	LinkFor     string
}

// MayManage reports whether the reader may change anything here.
func (m Members) MayManage() bool { return m.Viewer != nil && m.Viewer.Rights.Has(app.ManageMembers) }

// Member is one person of the account.
type Member struct {
	ID        string
	Email     string
	Name      string
	Role      string
	JoinedAt  time.Time
	TwoFactor bool
	Self      bool
	Fixed     bool // Fixed means that the reader may not change the member.
}

func (m Member) path(verb string) string { return membersPath + "/" + m.ID + "/" + verb }

// title is what a person is called.
func (m Member) title() string {
	if m.Name != "" {
		return m.Name
	}
	return m.Email
}

// RoleChoice is a role and what it may do.
type RoleChoice struct{ Role, Meaning string }

func roleOptions(choices []RoleChoice) []ui.Option {
	options := make([]ui.Option, len(choices))
	for i, c := range choices {
		options[i] = ui.Option{Value: c.Role, Label: format.Capitalize(c.Role)}
	}
	return options
}

func roleCards(choices []RoleChoice) []ui.Option {
	options := make([]ui.Option, len(choices))
	for i, c := range choices {
		options[i] = ui.Option{Value: c.Role, Label: format.Capitalize(c.Role), Text: c.Meaning}
	}
	return options
}

// Invitation is an open invitation to join the account.
type Invitation struct {
	ID        string
	Email     string
	Role      string
	InvitedBy string
	SentAt    time.Time
	ExpiresAt time.Time
}

func (i Invitation) path(verb string) string { return invitationsPath + "/" + i.ID + "/" + verb }

// InviteForm is what was typed about a new member.
type InviteForm struct {
	Email, Role                      string
	EmailError, RoleError, FormError string
}

// MemberChange asks before a member is removed.
type MemberChange struct {
	views.Shell
	Member Member
	Leave  bool // Leave means that the member is the reader, who leaves.
	Error  string
}

// Offer is an invitation as the invited person sees it.
type Offer struct {
	views.Shell
	Token   string
	Account string
	Role    RoleChoice
	Email   string
	Problem string // Problem says why the invitation cannot be accepted; empty when it can.
	Wrong   bool   // Wrong means that the reader is signed in with another address.
}

// next leads back to the offer after signing in.
func (o Offer) next(page string) string {
	return "/console/" + page + "?next=" + url.QueryEscape("/console/invitations?token="+url.QueryEscape(o.Token))
}

// AccountSettings is the page about the account itself.
type AccountSettings struct {
	views.Shell
	ID        string
	Name      string
	NameError string
	CreatedAt time.Time
	Members   int
	Owner     bool // Owner means that the reader owns the account.
	MayRename bool
	OnlyOwner bool
	Content   *ContentSettings // Content is nil when the server stores no content.
}

// AccountDelete asks before an account ends.
type AccountDelete struct {
	views.Shell
	Name          string
	Credit        app.Amount
	CreditKnown   bool
	PasswordError string
	NameError     string
	FormError     string
}
