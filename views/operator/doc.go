// Package operator draws the pages of the people who run the server: traffic, metrics, queues, catalog history, accounts, trials, limit
// requests and the outbox of the demo. Each page is a templ component that takes a view model of this package.
package operator
