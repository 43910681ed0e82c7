// Package selection keeps which models of a provider operators have selected but not published yet. Change changes a selection, and
// Clear empties it once its models are published.
package selection
