// Package chart computes the positions of bars, labels and lines of a chart with stacked columns, in percent of its area. Fill the
// columns of a Chart with values, call Draw, and print the positions as attributes of SVG.
package chart
