package account

import (
	"strings"
	"testing"

	"umg/app"
)

func TestNewPasswordsAreLongAndNotEasyToGuess(t *testing.T) {
	t.Parallel()
	const email = "ada.lovelace@analytical.example.com"
	for password, code := range map[string]string{
		"":                          "password_too_short",
		"elevenchars":               "password_too_short",
		strings.Repeat("ä", 11):     "password_too_short",
		strings.Repeat("long ", 26): "password_too_long",
		"unbelievable":              "password_common", // The list of common passwords has it.
		"UnBelievable":              "password_common",
		"q1w2e3r4t5y6":              "password_common",
		"password1234":              "password_common",
		"Password2026":              "password_common", // The list has it without the year.
		"!!sunshine2026":            "password_common",
		"monkey monkey":             "",
		"passwordpassword":          "password_common",
		"aaaaaaaaaaaa":              "password_common",
		"abcabcabcabc":              "password_common",
		"123456789012":              "password_common",
		"abcdefghijklmn":            "password_common",
		"zyxwvutsrqpo":              "password_common",
		"ada.lovelace":              "password_common",
		"ada.lovelace1815":          "password_common",
		"analytical.example.com":    "password_common",
		"correct horse battery":     "",
		"a long enough passphrase":  "",
		"Tr0ub4dor&3 no more":       "",
		"\u6b63\u786e\u7684\u99ac\u96fb\u6c60\u91d8\u66f8\u9488\u6c34\u706b\u98a8": "",
		"ada.lovelace likes her engine":                                            "",
		"# copyright (c":                                                           "",
	} {
		err := checkPassword(password, email)
		if code == "" {
			if err != nil {
				t.Errorf("%q: %v", password, err)
			}
			continue
		}
		wantError(t, err, app.Invalid, code)
	}
}
