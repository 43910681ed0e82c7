// Package credentialstore stores credentials of providers sealed in the database. Make a Store with New and give its Values to the
// catalog, whose providers name the credentials as sealed:NAME.
package credentialstore
