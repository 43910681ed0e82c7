// Package home draws the overview of an account, the first steps of a new account, and the recipes that connect tools. Each page is a
// templ component that takes a view model of this package.
package home
