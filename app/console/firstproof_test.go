package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

const owner = "victim@example.com"

// TestALinkOpenedWithoutASessionTakesThePassword has a stranger sign up with an address of another person, who opens the mailed link.
func TestALinkOpenedWithoutASessionTakesThePassword(t *testing.T) {
	t.Parallel()
	h, post := posting(t)
	squatter := h.signedIn(owner)
	link := lastLink(t, post)
	other := h.signedIn("bob@example.com")
	for _, reader := range []*person{h.visitor(), other} {
		shown := reader.wants(reader.see(link[1]), http.StatusOK, `autocomplete="current-password"`)
		if !strings.Contains(shown.body, `action="/console/forgot"`) || !strings.Contains(shown.body, "Choose a new password") {
			t.Errorf("no other way is offered:\n%s", shown.body)
		}
		for _, typed := range []string{"", "not the password"} {
			form := url.Values{"token": {link[2]}, "password": {typed}}
			reader.wants(reader.send("/console/verify", form), http.StatusUnprocessableEntity, `id="password-error"`)
		}
	}
	squatter.wants(squatter.see("/console"), http.StatusOK, "We sent a link to") // The link was not confirmed, so the session continues.

	v := h.visitor()
	v.wants(v.send("/console/forgot", url.Values{"email": {owner}}), http.StatusOK, "Check your mail")
	reset := sentLink(t, post, owner)
	v.wants(v.send("/console/reset", url.Values{"token": {reset[2]}, "password": {nextPassword}}), http.StatusOK, "Your password was changed")
	squatter.wants(squatter.see("/console"), http.StatusSeeOther, "/console/sign-in")
	signIn := url.Values{"email": {owner}, "password": {password}}
	squatter.wants(squatter.send("/console/sign-in", signIn), http.StatusUnprocessableEntity, "the password is wrong")
	v.wants(v.send("/console/verify", url.Values{"token": {link[2]}, "password": {nextPassword}}), http.StatusConflict, "was used already")
	v.wants(v.send("/console/sign-in", url.Values{"email": {owner}, "password": {nextPassword}}), http.StatusSeeOther, "/console")
	v.wants(v.see("/console/settings"), http.StatusOK, owner)
}

func TestTheRightPasswordVerifiesAndSignsIn(t *testing.T) {
	t.Parallel()
	h, post := posting(t)
	before := h.signedIn("ada@example.com")
	link := lastLink(t, post)
	bob := h.signedIn("bob@example.com")
	bobs := lastLink(t, post)
	v := h.visitor()
	v.wants(v.send("/console/verify", url.Values{"token": {link[2]}, "password": {password}}), http.StatusSeeOther, "/console")
	v.wants(v.see("/console"), http.StatusOK, "ada@example.com is verified.")
	before.wants(before.see("/console"), http.StatusSeeOther, "/console/sign-in")
	// A reader who is signed in as another user stays so.
	v.wants(v.send("/console/verify", url.Values{"token": {bobs[2]}, "password": {password}}), http.StatusOK, "bob@example.com is verified.")
	v.wants(v.see("/console/settings"), http.StatusOK, "ada@example.com")
	bob.wants(bob.see("/console"), http.StatusSeeOther, "/console/sign-in")
}

func TestPasswordsAreGuessedThroughALinkNoFasterThanBySigningIn(t *testing.T) {
	t.Parallel()
	h, post := posting(t)
	h.signedIn("ada@example.com")
	link := lastLink(t, post)
	v := h.visitor()
	guess := url.Values{"token": {link[2]}, "password": {"not the password"}}
	last := v.send("/console/verify", guess)
	for range 20 {
		if last.status != http.StatusUnprocessableEntity {
			break
		}
		last = v.send("/console/verify", guess)
	}
	v.wants(last, http.StatusTooManyRequests, "Too many attempts")
	v.wants(last, http.StatusTooManyRequests, `name="password"`)
	v.wants(v.send("/console/sign-in", url.Values{"email": {"ada@example.com"}, "password": {password}}), http.StatusTooManyRequests, "Too many attempts")
}

// TestALinkToAnotherAddressTakesThePasswordAsWell has a stranger move an account of theirs to the address of another person.
func TestALinkToAnotherAddressTakesThePasswordAsWell(t *testing.T) {
	t.Parallel()
	h, post := posting(t)
	stranger, v := h.signedIn("stranger@example.com"), h.visitor()
	stranger.send("/console/settings/email", url.Values{"email": {owner}, "current_password": {password}})
	link := sentLink(t, post, owner)
	v.wants(v.see(link[1]), http.StatusOK, `autocomplete="current-password"`)
	for _, typed := range []string{"", "not the password"} {
		form := url.Values{"token": {link[2]}, "password": {typed}}
		v.wants(v.send("/console/email", form), http.StatusUnprocessableEntity, `id="password-error"`)
	}
	var moved int
	if err := h.db.Get(&moved, `select count(*) from users where email = $1`, owner); err != nil || moved != 0 {
		t.Errorf("%d accounts moved without the password, %v", moved, err)
	}
	shown := stranger.wants(stranger.see(link[1]), http.StatusOK, "Use this address")
	if strings.Contains(shown.body, `name="password"`) {
		t.Error("the user of the link is asked for the password while they are signed in")
	}
	stranger.wants(stranger.see("/console/settings"), http.StatusOK, "One step is left")
	v.wants(v.send("/console/email", url.Values{"token": {link[2]}, "password": {password}}), http.StatusOK, "From now on you sign in with")
}
