// Package modelstatus decides in which state a model is for its callers, from the catalog, the pauses of operators, the routes and the
// calls of the last 24 hours. Call Service.Board and show what it says; no other package judges models.
package modelstatus
