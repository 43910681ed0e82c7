// Package notices makes the notices of a reader of the console from the state of their account: credit, limits, keys, endpoints, models
// and videos. Every page asks a Service for the count at the bell and for degraded models, and the page of notifications for the list.
package notices
