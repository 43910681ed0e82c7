package app

import "strings"

// Rights are what a principal may do in an account, as a set: a member's follow from their role, a key's from its
// scopes. Each route of the API and the console names the rights it needs, so that two tables hold all permissions.
type Rights uint32

// The single rights.
const (
	CallText      Rights = 1 << iota // have text generated
	MakeVideos                       // have videos made and changed
	UseVideos                        // see, download and delete videos
	UseAssets                        // make, see and delete material assets
	ReadModels                       // see models and their contracts
	ReadUsage                        // see what was used and what it cost
	UseWebhooks                      // manage webhook endpoints and their deliveries
	ManageKeys                       // make, change, rotate and delete API keys
	ManageMembers                    // invite people, change their roles and remove them
	ManageMoney                      // buy credit and decide how it is bought
	ManageAccount                    // change the settings of the account, read its audit log and export everything
	ReadContent                      // see and delete what is kept of what was asked and answered in calls
	OwnAccount                       // make and remove owners, delete the account

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

// Has reports whether all of need are among the rights. Needing nothing is always granted.
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
