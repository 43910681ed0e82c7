package gateway

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"umg/app/catalog"
)

// endUserBytes is the length of the id of an end user before it is written in hexadecimal digits.
const endUserBytes = 16

// endUserFor is the id of the end user for a route: that of the account and the client's own id, if it has sent one. It is the same for the
// same account and user, differs between accounts, and tells nothing about them to a reader without the key. It is empty when the request
// has no id and the provider is not known to take one.
func (c *call) endUserFor(route *catalog.Route) string {
	if c.gateway.o.EndUserKey == nil || route.EndUserMember == "" && c.head.EndUser == "" {
		return ""
	}
	mac := hmac.New(sha256.New, c.gateway.o.EndUserKey)
	mac.Write([]byte(c.request.Principal.AccountID))
	mac.Write([]byte{0}) // The id of an account has no such byte.
	mac.Write([]byte(c.head.EndUser))
	return hex.EncodeToString(mac.Sum(nil)[:endUserBytes])
}
