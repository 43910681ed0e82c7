// Package change makes changes to catalog files: providers, models, prices and routes. Its functions never change the file that they get;
// pass their result to catalog.Edit, and show the result of Preview before.
package change
