package app

import "strings"

// Rights are what a principal may do in an account, as a set: a member's follow from their role, a key's from its
// scopes. Each route of the API and the console names the rights it needs, so that two tables hold all permissions.
type Rights uint32

// These are the single rights.
const (
	CallText      Rights = 1 << iota // CallText allows calls of text models.
	MakeVideos                       // MakeVideos allows making and changing videos.
	UseVideos                        // UseVideos allows reading, downloading and deleting videos.
	UseAssets                        // UseAssets allows making, reading and deleting assets.
	ReadModels                       // ReadModels allows reading models and their contracts.
	ReadUsage                        // ReadUsage allows reading usage and costs.
	UseWebhooks                      // UseWebhooks allows managing webhook endpoints and deliveries.
	ManageKeys                       // ManageKeys allows making, changing, rotating and deleting API keys.
	ManageMembers                    // ManageMembers allows inviting people, changing roles and removing people.
	ManageMoney                      // ManageMoney allows buying credit and setting how it is bought.
	ManageAccount                    // ManageAccount allows settings, the audit log and exports.
	ReadContent                      // ReadContent allows reading and deleting stored prompts and answers.
	OwnAccount                       // OwnAccount allows making and removing owners, and deleting the account.

	// AllRights are an owner's.
	AllRights = OwnAccount<<1 - 1
	// Spend is every right whose use costs credit.
	Spend = CallText | MakeVideos
)

// rightWords name the rights for messages, in the order of their bits.
var rightWords = [...]string{
	"call text models", "make videos", "use videos", "use assets", "read models", "read usage", "manage webhooks", "manage keys",
	"manage members", "manage billing", "manage the account", "read kept content", "own the account",
}

// Has reports whether all of need are among the rights. An empty need is always granted.
func (r Rights) Has(need Rights) bool { return r&need == need }

// String lists the rights in words.
func (r Rights) String() string {
	var words []string
	for i, w := range rightWords {
		if r&(1<<i) != 0 {
			words = append(words, w)
		}
	}
	return strings.Join(words, ", ")
}
