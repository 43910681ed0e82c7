// Package preset has what the program knows about providers, as data: addresses, paths, credentials, changes of bodies, and the fields that
// an operator must fill in. Find returns a preset, and Preset.Expand fills it in.
package preset
