// Package harness runs the built gateway for the end-to-end tests: it starts demos, replicas, the simulated upstream and a
// browser, and speaks to them as clients do. A test package calls RunTests from its TestMain and asks for a gateway with
// SharedDemo or StartDemo. No code of the server is imported, so that tests know only what a user can see.
package harness
