// Package signin draws the pages of signing up, signing in, verifying an e-mail address and resetting a password. Each page is a templ
// component that takes a view model of this package.
package signin
