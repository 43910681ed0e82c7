package dialect

// HasMarkedSignature reports whether a request has signatures that a translation has marked. Such a request must be translated even to
// its own style, because the provider cannot read them. The body must be that from which the head was read, or one with less in it.
func (h *Head) HasMarkedSignature(body []byte) bool {
	return h.text.marked && HasMarkedSignature(body) // What has the mark may have been cut from the body.
}
