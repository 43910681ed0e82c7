// Package modellist reads the lists in which providers name their models, as their presets say. Read reads all pages of all lists.
package modellist
