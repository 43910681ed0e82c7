package e2e

var eventLines = []checkLine{}
