// Package billing draws the pages about credit: balance, top-ups, spend by month, spend limit, ledger and settlement rules. Each page is
// a templ component that takes a view model of this package.
package billing
