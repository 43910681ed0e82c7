// Package docs draws the pages of the documentation and its search. IndexPage takes an Index, DocumentPage a Document.
package docs
