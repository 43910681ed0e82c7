package account

import (
	"context"
	"strings"
	"unicode/utf8"

	"umg/app"
)

const freezeReasonChars = 200

// Freeze stops everything that would cost an account money, on every replica within a second. The account keeps what it
// has, and may be looked at. The reason is shown to its users. Freezing it again changes the reason only.
func (s *Service) Freeze(ctx context.Context, accountID, reason string) error {
	reason = strings.TrimSpace(reason)
	if reason == "" || utf8.RuneCountInString(reason) > freezeReasonChars || !printable(reason) {
		return invalid("reason", "A reason has between 1 and %d printable characters; the account's users read it.", freezeReasonChars)
	}
	now := s.o.Now().UTC()
	found, err := setFrozen(ctx, s.db, accountID, reason, &now)
	if err == nil && !found {
		return app.Errorf(app.NotFound, "account_not_found", "There is no such account.")
	}
	return storeError("freeze account", err)
}

// Unfreeze ends a freeze. It changes nothing on an account that is not frozen.
func (s *Service) Unfreeze(ctx context.Context, accountID string) error {
	found, err := setFrozen(ctx, s.db, accountID, "", nil)
	if err == nil && !found {
		return app.Errorf(app.NotFound, "account_not_found", "There is no such account.")
	}
	return storeError("unfreeze account", err)
}

// ErrFrozen is what a frozen account is told instead of doing what would cost it money.
func ErrFrozen() *app.Error {
	e := app.Errorf(app.Forbidden, "account_frozen",
		"This account is frozen, so that nothing can be charged to it. Its owner finds the reason in the console and can ask us to lift it.").Final()
	e.Doc = "/console"
	return e
}
