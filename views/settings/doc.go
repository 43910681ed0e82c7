// Package settings draws the account settings: members, profile, security, audit log, limits, stored content, export and deletion. Each
// page is a templ component that takes a view model of this package.
package settings
