// Package modellist reads the models that a provider lists.
package modellist
