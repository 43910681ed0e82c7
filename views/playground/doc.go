// Package playground draws the playground for text models and the pages of saved prompts. Page takes a Playground with one Pane for each
// model that answers.
package playground
