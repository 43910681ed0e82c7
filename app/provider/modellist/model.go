package modellist

// Model is one entry of a provider's model list.
type Model struct {
	// ID is the provider's spelling.
	ID string
	// ContextTokens is zero when the list does not say it.
	ContextTokens int64
}
