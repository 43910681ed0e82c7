// Package library has the models that providers serve: their limits, abilities, prices and names, as of a day. Embedded and Load return
// the data, Choices lists what a provider with a preset can serve, and FileModel turns a choice into a model of a catalog.
package library
