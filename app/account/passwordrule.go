package account

import (
	_ "embed"
	"strings"
	"unicode"
	"unicode/utf8"

	"umg/app"
	"umg/app/trial"
)

// These rules hold for new passwords. Passwords that were set under other rules still work.
const (
	passwordCharsMin   = 12
	passwordBytesMax   = 128
	paddingBytesMax    = 8 // Up to this many digits and signs around a common password do not make it harder to guess.
	addressPartMin     = 4 // A password must not mostly repeat a part of the address that is at least this long.
	repeatedBytesUpper = 6 // A password that repeats at most this many bytes is easy to guess.
)

// commonPasswords is a list of one password a line, sorted and in lower case, after the notice of its licence.
//
//go:embed commonpasswords.txt
var commonPasswords string

// checkPassword refuses a new password that is too short, too long, or among those that are tried first: common ones, also with
// digits and signs around them, few characters repeated, and the user's own address.
func checkPassword(password, email string) error {
	switch {
	case utf8.RuneCountInString(password) < passwordCharsMin:
		return app.Errorf(app.Invalid, "password_too_short", "A password has at least %d characters.", passwordCharsMin).At("password")
	case len(password) > passwordBytesMax:
		return app.Errorf(app.Invalid, "password_too_long", "A password has at most %d bytes.", passwordBytesMax).At("password")
	case guessable(strings.ToLower(password), email):
		return app.Errorf(app.Invalid, "password_common",
			"This password is easy to guess. Choose another, such as four words that do not belong together.").At("password")
	}
	return nil
}

// guessable takes the password in lower case.
func guessable(password, email string) bool {
	if common(password) || common(strings.ReplaceAll(password, " ", "")) {
		return true
	}
	core := strings.TrimFunc(password, func(r rune) bool { return !unicode.IsLetter(r) })
	if core != "" && len(password)-len(core) <= paddingBytesMax && common(core) {
		return true
	}
	// unit is the shortest beginning that gives the password when it is repeated.
	unit := password[:strings.Index((password + password)[1:], password)+1]
	if len(unit) < len(password) && (len(unit) <= repeatedBytesUpper || common(unit)) || sequence(password) {
		return true
	}
	name, domain := trial.SplitEmail(email)
	organisation, _, _ := strings.Cut(trial.Organisation(domain), ".") // The organisation of www.example.co.uk is example.
	for _, part := range []string{name, domain, organisation} {
		if len(part) >= addressPartMin && 2*len(part)*strings.Count(password, part) > len(password) {
			return true
		}
	}
	return false
}

// common searches the list as a whole: it is asked rarely, and an index would take more memory than the list.
func common(password string) bool {
	return password != "" && !strings.ContainsAny(password, "\n#") && strings.Contains(commonPasswords, "\n"+password+"\n")
}

// sequence reports whether each byte is the one before plus one, or each minus one.
func sequence(s string) bool {
	up, down := true, true
	for i := 1; i < len(s); i++ {
		up, down = up && s[i] == s[i-1]+1, down && s[i] == s[i-1]-1
	}
	return up || down
}
