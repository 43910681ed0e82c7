// Package codesample prints requests as programs in the languages that the console shows. OfRequest prints a text request, OfVideo and
// OfAssetVideo print the creation of a video, OfAssetCreation and OfAssetUse print calls of the asset API.
package codesample
