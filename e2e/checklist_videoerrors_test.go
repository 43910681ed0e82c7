package e2e

var videoErrorLines = []checkLine{}
