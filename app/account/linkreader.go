package account

import (
	"context"

	"umg/app"
)

// A link that was mailed proves who reads a mailbox. It does not prove who signed up with its address and chose the password. So a
// link that makes an address the one of a user also needs a session or the password of that user.

// linkReader is the user of a link, once the person who opened the link has shown that they may act for that user.
type linkReader struct {
	app.Principal
	// hash is the hash that the given password matched. It is empty for a reader who is signed in as the user.
	hash string
}

// linkReader returns the user of a link as the principal who uses it. A reader who is signed in as that user needs no password.
// The password of every other reader is checked and counted as a sign-in with the current address of the user. A refusal is at the
// field password, or says how long to wait.
func (s *Service) linkReader(ctx context.Context, p app.Principal, userID, email, password string) (linkReader, error) {
	if p.UserID != "" && p.UserID == userID {
		return linkReader{Principal: p}, nil
	}
	if password == "" {
		return linkReader{}, errLinkPassword("Enter the password of this account.")
	}
	u, hash, err := s.checkCredentials(ctx, email, password, p.From.IP)
	if app.KindOf(err) == app.Unauthenticated {
		return linkReader{}, errLinkPassword("That is not the password of this account.")
	}
	if err != nil {
		return linkReader{}, err
	}
	if u.ID != userID {
		return linkReader{}, errLinkUnknown()
	}
	return linkReader{Principal: app.Principal{UserID: userID, From: p.From}, hash: hash}, nil
}

// check refuses a reader whose password was replaced since it was checked. The caller has locked the row of the user.
func (r linkReader) check(who personRow) error {
	if r.hash != "" && r.hash != who.Hash {
		return errLinkPassword("The password of this account was changed a moment ago. Enter the new one.")
	}
	return nil
}

func errLinkPassword(message string) error {
	return app.Errorf(app.Invalid, "wrong_password", "%s", message).At("password")
}
