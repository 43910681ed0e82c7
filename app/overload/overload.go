// Package overload decides at the door whether this replica can take one more call: by how many it runs, by how much memory it
// holds and by how late it is itself. It knows no store, no account and no body, so that a refusal costs next to nothing.
package overload
