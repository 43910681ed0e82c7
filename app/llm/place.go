package llm

import "umg/app"

// Place is where a part stands in the client's request, so that an error about it can name the field. It is empty in
// answers and in what the gateway itself has written.
type Place struct {
	// Path is in the spelling of the client, such as messages[2].content[1].source. It leads to the id of a call or of a
	// result, where the client wrote one, and to the source of media.
	Path string
	// ID is the id of a call or of a result as the client wrote it; empty where it wrote none.
	ID string
}

// Refuse is an error about a part that a style has no place for. The format says why and is a sentence of its own.
func (p *Part) Refuse(code string, t *Traits, format string, args ...any) *app.Error {
	e := app.Errorf(app.Invalid, code, format, args...)
	if p == nil || p.Place.Path == "" {
		return e.At(t.Conversation)
	}
	e.Message = p.Place.Path + ": " + e.Message
	return e.At(p.Place.Path)
}
