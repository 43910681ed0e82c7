package responses

import "umg/app"

// Type is the type of an error in this style.
func Type(e *app.Error) string { return errorTypes.Of(e) }
