// Package videos draws the list of video jobs, the page of a video, the video playground and the pages of assets. List, Detail and
// Playground are the view models of its pages.
package videos
