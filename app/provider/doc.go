// Package provider speaks HTTP to upstreams. It knows where a provider is, how it wants to be asked and what its
// failures mean: whether another try may help, and what of them a client may see. It does not know what a call costs,
// which route comes next, or anything of the client's connection.
package provider
