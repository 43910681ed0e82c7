package audit

import (
	"slices"
	"strings"
)

// Known is an action with the words that the console shows for it: an actor did this to the object.
type Known struct {
	Action Action
	Words  string // words that follow the actor's name: "created the key"
	Object string // kind of the object, as shown after its id or name
}

// known are all actions that are written, by kind of object.
var known = []Known{
	{"key.created", "created the key", "API key"},
	{"key.updated", "changed the key", "API key"},
	{"key.disabled", "disabled the key", "API key"},
	{"key.enabled", "enabled the key", "API key"},
	{"key.rotated", "rotated the secret of the key", "API key"},
	{"key.deleted", "deleted the key", "API key"},
	{"key.leaked", "disabled the key, whose secret was found in public", "API key"},

	{"member.invited", "invited", "invitation"},
	{"invitation.revoked", "revoked the invitation of", "invitation"},
	{"invitation.declined", "declined to join the account", "invitation"},
	{"member.joined", "joined the account", "member"},
	{"member.role_changed", "changed the role of", "member"},
	{"member.removed", "removed the member", "member"},
	{"member.left", "left the account", "member"},

	{"account.renamed", "renamed the account", "account"},
	{"account.settings_changed", "changed the settings of the account", "account"},
	{"account.limits_requested", "asked for higher limits of", "account"},
	{"account.limits_answered", "answered the request for higher limits of", "account"},
	{"account.exported", "exported the data of the account", "account"},
	{"account.content_changed", "changed what is kept of the calls of", "account"},
	{"account.content_deleted", "deleted all kept content of", "account"},
	{"account.deleted", "deleted the account", "account"},
	{"account.frozen", "froze the account", "account"},
	{"account.unfrozen", "unfroze the account", "account"},

	{"content.deleted", "deleted the kept content of the call", "call"},
	{"content.run_deleted", "deleted the kept run of the playground", "run"},

	{"webhook.created", "created the webhook endpoint", "webhook endpoint"},
	{"webhook.updated", "changed the webhook endpoint", "webhook endpoint"},
	{"webhook.enabled", "enabled the webhook endpoint", "webhook endpoint"},
	{"webhook.disabled", "disabled the webhook endpoint", "webhook endpoint"},
	{"webhook.rotated", "rotated the secret of the webhook endpoint", "webhook endpoint"},
	{"webhook.deleted", "deleted the webhook endpoint", "webhook endpoint"},

	{"billing.topup_started", "started a top-up", "top-up"},
	{"billing.auto_topup_changed", "changed automatic top-up", "account"},
	{"billing.low_balance_changed", "changed the notice about low credit", "account"},
	{"billing.spend_limit_changed", "changed the spend limit of", "account"},
	{"billing.promo_redeemed", "redeemed a promotion code for", "account"},
	{"billing.portal_opened", "opened the payment service's page about cards", "account"},
	{"billing.refunded", "refunded a top-up", "top-up"},
	{"billing.credit_granted", "added credit", "account"},
	{"billing.credit_taken", "took credit back", "account"},

	{"job.retried", "retried the job", "job"},

	{"asset.created", "created the asset", "asset"},
	{"asset.deleted", "deleted the asset", "asset"},

	{"prompt.created", "saved the prompt", "prompt"},
	{"prompt.deleted", "deleted the prompt", "prompt"},
	{"prompt.shared", "made a link that shows the prompt", "prompt"},
	{"prompt.share_revoked", "revoked a link that showed the prompt", "prompt"},

	{"user.renamed", "changed the name they go by", "user"},
	{"user.password_changed", "changed their password", "user"},
	{"user.email_changed", "changed their e-mail address", "user"},
	{"user.totp_enabled", "turned on sign-in codes", "user"},
	{"user.totp_disabled", "turned off sign-in codes", "user"},
	{"user.codes_renewed", "renewed their recovery codes", "user"},
	{"user.code_used", "signed in with a recovery code", "user"},
	{"user.sessions_ended", "ended other sessions of theirs", "user"},
	{"user.reset_link_made", "made a link to set a new password", "user"},
	{"user.made_operator", "granted operator access", "user"},
}

// Actions lists all actions, by kind of object.
func Actions() []Known { return slices.Clone(known) }

// Describe returns the words of an action. An action that a later version wrote is shown by its name.
func Describe(a Action) Known {
	for _, k := range known {
		if k.Action == a {
			return k
		}
	}
	object, verb, _ := strings.Cut(string(a), ".")
	return Known{Action: a, Words: strings.ReplaceAll(verb, "_", " "), Object: strings.ReplaceAll(object, "_", " ")}
}

// Kind is a group of actions that a list can be narrowed to.
type Kind struct {
	Actions Action // common beginning of the actions, for a Filter
	Name    string // display name, such as "API keys"
}

// Kinds are the groups, in the order in which they are offered.
func Kinds() []Kind {
	return []Kind{
		{"key.", "API keys"}, {"member.", "Members"}, {"invitation.", "Invitations"}, {"account.", "Account"}, {"billing.", "Billing"},
		{"webhook.", "Webhooks"}, {"asset.", "Assets"}, {"prompt.", "Prompts"},
		{"job.", "Jobs of queues"}, {"content.", "Content of calls"}, {"user.", "Sign-in and security"},
	}
}
