package video

import "umg/app"

// Call is a video that somebody asks for.
type Call struct {
	Principal   app.Principal
	LimitFactor int     // multiplies the usual limits of the account; zero is one
	Body        []byte  // a JSON object, also when it came as a form
	Upload      *Upload // the first frame of a form, nil for none
	Source      string  // the video to change, when the path names one
}

// Upload is a file as a form brought it.
type Upload struct {
	Name, Type string // as the form declares them, and not to be believed
	Data       []byte
}
