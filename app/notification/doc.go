// Package notification stores which notifications a member has read and how they want to be notified of each event (Service),
// and sends e-mails about price changes, keys, videos and models that end (PriceChanges).
// The console derives the notifications themselves from the state of the account.
package notification
