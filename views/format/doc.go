// Package format puts amounts, counts, times and sizes into the words of the console. Use Dollars for an amount, CountOf for a count
// with its noun and Moment, Day or Ago for a time.
package format
