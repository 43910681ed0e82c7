// Package modelfamily has, as data, what families of models take: parameters, ways to ask for thinking, and the style of their calls at
// a preset. Find returns the family of a model by the provider's name of it.
package modelfamily
