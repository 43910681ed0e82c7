package settings

import "umg/views"

const startPath = "/console/account/new"

// Start is the page of a user who is a member of no account.
type Start struct {
	views.Shell
	Name      string
	NameError string
}
