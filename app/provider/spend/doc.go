// Package spend knows what the calls of each provider have cost the operator, and which spend caps of the catalog are reached. Call Run of
// a Tracker, and ask Reached before a call is sent.
package spend
