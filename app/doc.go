// Package app is the vocabulary of the gateway: error kinds, amounts of money, identifiers, the principal a call runs for, and the clock.
// It knows only the words every room shares. It does not know HTTP, SQL, any text protocol or any other package of this module.
package app
