// Package setup draws the pages that take a gateway into operation: the first operator's account, keys from the environment, models, and a
// first call. Each page is a templ component that takes a view model of this package.
package setup
