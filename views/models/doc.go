// Package models draws the list of models, the page of a model, its price calculator and the comparison of models. ListPage,
// DetailPage and ComparePage take the view models of this package.
package models
