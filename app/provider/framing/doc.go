// Package framing rewrites the framings of providers' streams as server-sent events, so that one reader and one set of codecs serve them
// all. NewReader wraps the body of an answer.
//
// An event of an AWS event stream becomes a frame with its event type and its payload. An event "chunk" carries an event of the model's
// own style, which becomes the frame. An exception in an event stream becomes a frame whose event is the type of the exception and whose
// data has the form of an error of the messages style:
//
//	event: throttlingException
//	data: {"type":"error","error":{"type":"throttlingException","message":"..."}}
//
// Every codec reads that as an error of the provider, because it has the member error, whatever model answers.
package framing
