// Package check proves that a provider works, before and after it is in the catalog. Run tests a provider step by step, Runs does so in
// the background for a console, and Store keeps what the test calls cost.
package check
