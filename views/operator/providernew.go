package operator

import (
	"umg/views"
	"umg/views/format"
	"umg/views/ui"
)

// ProviderPresets are the presets to pick from.
type ProviderPresets struct {
	views.Shell
	Text string // Text is what is searched for.
	List []PresetCard
	All  int // All is how many presets there are.
}

// PresetCard is a preset to pick.
type PresetCard struct {
	ID, Name, Note string
	// Priced is how many models the library has a price for.
	Priced int
	// Providers is how many providers of the catalog use the preset.
	Providers int
}

func (c PresetCard) path() string { return views.NewProviderPath + "/" + c.ID }

// about says what the library has, and whether the catalog has such a provider.
func (c PresetCard) about() string {
	text := format.CountOf(int64(c.Priced), "priced model", "priced models")
	if c.Priced == 0 {
		text = "You set the prices"
	}
	if c.Providers > 0 {
		text += " · " + format.CountOf(int64(c.Providers), "provider added", "providers added")
	}
	return text
}

// A credential can be in one of these places.
const (
	CredentialPasted    = "paste"
	CredentialReference = "reference"
)

// NewProvider is the form for a new provider. It never has a credential that was sent.
type NewProvider struct {
	views.Shell
	Preset                           PresetCard
	Docs                             string
	Choice                           *ProviderChoice // Choice is nil for a preset without options.
	ID, IDError                      string
	Name, NameError                  string
	Fields                           []PresetField // Fields are those that are no secrets.
	Secrets                          []PresetField // Secrets are empty for a provider without a credential.
	Source                           string        // Source is CredentialPasted or CredentialReference.
	Reference, ReferenceError        string
	SecretError                      string
	Stored, Ending                   string // Stored is the name of the sealed credential of an earlier attempt, and Ending its visible end.
	Pasted                           bool   // Pasted means that a credential was sent and not stored.
	Address, AddressError, AddressOf string // AddressOf is the address of the preset.
	Problem                          string
}

// ProviderChoice is a field of a preset whose options have fields of their own.
type ProviderChoice struct {
	ID, Label, Value string
	Options          []ui.Option
}

// PresetField is a field of a preset.
type PresetField struct {
	ID, Label, Value, Example, Error string
	Required, Lines                  bool // Lines means that the value has several lines.
}

// action is where the form is sent.
func (f NewProvider) action() string { return f.Preset.path() }

func (f NewProvider) optionPath(value string) string {
	return f.Preset.path() + "?" + f.Choice.ID + "=" + value
}

// secretHint says whether a credential has to be pasted.
func (f NewProvider) secretHint(last bool) string {
	switch {
	case !last:
		return ""
	case f.Stored != "":
		return "The pasted credential" + endingWords(f.Ending) + " is stored as sealed:" + f.Stored + ". Leave the field empty to use it."
	case f.Pasted:
		return "Your credential was not stored. Paste it again."
	}
	return "It is encrypted before it is stored, and no page shows it again."
}

func endingWords(ending string) string {
	if ending == "" {
		return ""
	}
	return " that ends with …" + ending
}

// referenceHint says what a reference looks like.
func (f NewProvider) referenceHint() string {
	return "A variable of the environment, such as ${NAME}, a file of the server, such as file:/run/secrets/key, or sealed:NAME."
}

func (f NewProvider) hasAdvanced() bool { return f.AddressOf != "" }

// secretError is the mistake of a part of the credential. A mistake of the whole is shown below the last part.
func (f NewProvider) secretError(field PresetField, last bool) string {
	if last && field.Error == "" {
		return f.SecretError
	}
	return field.Error
}
