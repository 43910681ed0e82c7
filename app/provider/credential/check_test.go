package credential

import (
	"strings"
	"testing"

	"umg/app/catalog"
)

func TestCredentialsAreCheckedWithoutARequest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind        catalog.AuthKind
		value, says string
	}{
		{"", "sk-live-hunter2", ""},
		{catalog.AuthBearer, "", "it is empty"},
		{catalog.AuthHeader, "hunter2\nmore", "no header may have"},
		{catalog.AuthBearer, "hunter2é", "no header may have"},
		{catalog.AuthBearer, " hunter2", "begins or ends with a space"},
		{catalog.AuthQuery, "hunter2é", ""},
		{catalog.AuthSigV4, "AKIA:hunter2", ""},
		{catalog.AuthSigV4, "AKIAhunter2", "needs ACCESS_KEY_ID:SECRET"},
		{catalog.AuthJWT, "hunter2", "needs ACCESS_KEY:SECRET"},
		{catalog.AuthJWT, "key:hunter2", ""},
		{catalog.AuthGoogle, "hunter2", "needs the JSON"},
		{catalog.AuthGoogle, `{"type":"service_account","client_email":"a@b","private_key":"hunter2"}`, "private_key with an RSA key"},
		{catalog.AuthGoogle, `{"type":"authorized_user","client_id":"hunter2"}`, "needs client_id, client_secret and refresh_token"},
		{catalog.AuthEntra, "hunter2", ""},
		{catalog.AuthEntra, "", "it is empty"},
	} {
		err := Check(catalog.Auth{Kind: c.kind}, catalog.NewSecret(c.value))
		switch {
		case c.says == "" && err != nil, c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s %q: %v", c.kind, c.value, err)
		case err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%s: the error has the credential: %v", c.kind, err)
		}
	}
}
