package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"umg/app/catalog"
)

// endUserBytes is the length of the id of an end user before it is written in hexadecimal digits.
const endUserBytes = 16

// endUserFor is the id of the end user for a route: that of the account and the client's own id, if it has sent one. It is empty when the
// request has no id and the provider is not known to take one.
func (c *call) endUserFor(route *catalog.Route) string {
	if c.gateway.o.EndUserKey == nil || route.EndUserMember == "" && c.head.EndUser == "" {
		return ""
	}
	return newEndUserID(c.gateway.o.EndUserKey, c.request.Principal.AccountID, c.head.EndUser)
}

// newEndUserID returns an id that is the same for the same account and user, differs between accounts, and tells nothing about them to a
// reader without the key. The user is empty for the account itself.
func newEndUserID(key []byte, accountID, user string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(accountID))
	mac.Write([]byte{0}) // The id of an account has no such byte.
	mac.Write([]byte(user))
	return hex.EncodeToString(mac.Sum(nil)[:endUserBytes])
}
