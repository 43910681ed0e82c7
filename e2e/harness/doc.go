// Package e2e holds the tests of the product from outside: the built binary over real HTTP, with a real database, the
// simulated upstream and a real browser. It knows what a user can see. It does not know any code of the server.
package harness
