// Package jsonschema checks JSON against a schema in one pass and without allocations, and exactly in a second pass when a body has a
// fault. Compile makes a Schema, whose Check returns the first fault and whose Admit also lists the settings that a model does not take.
package jsonschema
