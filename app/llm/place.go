package llm

import "umg/app"

// Place is the position of a part in the request of the client, so that an error about it can name the field. It is empty in answers
// and in parts that the gateway has written.
type Place struct {
	// Path is in the spelling of the client, such as messages[2].content[1].source. It is the path of the id of a call or of a result,
	// if there is one, and of the source of media.
	Path string
	// ID is the id of a call or of a result as the client wrote it; empty for none.
	ID string
}

// Refuse returns an error about a part that a style cannot express. The format is a sentence that says why.
func (p *Part) Refuse(code string, t *Traits, format string, args ...any) *app.Error {
	e := app.Errorf(app.Invalid, code, format, args...)
	if p == nil || p.Place.Path == "" {
		return e.At(t.Conversation)
	}
	e.Message = p.Place.Path + ": " + e.Message
	return e.At(p.Place.Path)
}
