package catalog

import (
	"cmp"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"umg/app"
	"umg/app/jsontree"
	"umg/app/llm"
)

// messagesEntry is a model in the layout of clients of the messages style. A null means unknown.
type messagesEntry struct {
	Type           string  `json:"type"`
	ID             string  `json:"id"`
	DisplayName    string  `json:"display_name"`
	CreatedAt      string  `json:"created_at"`
	MaxInputTokens *int64  `json:"max_input_tokens"`
	MaxTokens      *int64  `json:"max_tokens"`
	Capabilities   *string `json:"capabilities"`
	Line           *string `json:"line"`
	Lifecycle      string  `json:"lifecycle"`
	DeprecatedAt   *string `json:"deprecated_at"`
	RetiresAt      *string `json:"retires_at"`
}

// MessagesEntry is the model in the layout of the messages style, as JSON. It is deprecated when its deprecation is before now.
func (m *Model) MessagesEntry(now time.Time) []byte {
	lifecycle := "active"
	if m.DeprecatedAt != nil && !m.DeprecatedAt.After(now) {
		lifecycle = "deprecated"
	}
	return encoded(messagesEntry{
		Type: "model", ID: m.ID, DisplayName: m.Name, CreatedAt: m.CreatedAt.UTC().Format(time.RFC3339),
		MaxInputTokens: orNull(m.ContextTokens), MaxTokens: orNull(m.MaxOutputTokens), Lifecycle: lifecycle,
		DeprecatedAt: formatted(m.DeprecatedAt, time.RFC3339), RetiresAt: formatted(m.ShutdownAt, time.RFC3339),
	})
}

// nativeEntry is a model in the layout of clients of the native style.
type nativeEntry struct {
	Name                       string   `json:"name"`
	BaseModelID                string   `json:"baseModelId"`
	Version                    string   `json:"version"`
	DisplayName                string   `json:"displayName"`
	Description                string   `json:"description"`
	InputTokenLimit            int64    `json:"inputTokenLimit"`
	OutputTokenLimit           int64    `json:"outputTokenLimit"`
	SupportedGenerationMethods []string `json:"supportedGenerationMethods"`
	Thinking                   bool     `json:"thinking"`
}

// nativeNamePrefix is what a model's name begins with in the native style.
const nativeNamePrefix = "models/"

// NativeMethods are what a model answers in the native style, as its lists name them.
func NativeMethods() []string {
	return []string{"generateContent", "streamGenerateContent", "countTokens"}
}

// NativeEntry is the model in the layout of the native style, as JSON.
func (m *Model) NativeEntry() []byte {
	return encoded(nativeEntry{
		Name: nativeNamePrefix + m.ID, BaseModelID: m.ID, Version: m.CreatedAt.UTC().Format("2006-01"), DisplayName: m.Name,
		Description: m.Description, InputTokenLimit: m.ContextTokens, OutputTokenLimit: m.MaxOutputTokens,
		SupportedGenerationMethods: NativeMethods(), Thinking: slices.Contains(m.Parameters, "reasoning_effort"),
	})
}

// encoded prints an entry. It cannot fail: entries are made of texts, integers and booleans.
func encoded(entry any) []byte {
	b, err := json.Marshal(entry)
	if err != nil {
		panic("catalog: an entry of texts and integers cannot be printed: " + err.Error())
	}
	return b
}

// NativePage is which part of the list is wanted in the native style.
type NativePage struct {
	// Size is at least 1.
	Size int
	// After is the id of the model before the page. It is empty for the first page.
	After string
}

// nativePageStandard is the size of a page that names none.
const nativePageStandard = 50

// ParseNativePage reads pageSize and pageToken. A larger size gets pages of 1,000, as in the style's own service; other
// parameters belong to clients.
func ParseNativePage(q url.Values) (NativePage, error) {
	size, err := pageSize(q, "pageSize", 0)
	return NativePage{Size: cmp.Or(size, nativePageStandard), After: q.Get("pageToken")}, err
}

// NativeList is a page of the models that answer in the native style and that a caller may use, in catalog order. It returns an
// *app.Error when the page's token is none of the list.
func (s *Snapshot) NativeList(may func(id string) bool, p NativePage) ([]byte, error) {
	all := slices.DeleteFunc(s.listed(may), func(m *Model) bool { return !m.Serves(llm.Native) })
	if p.After != "" {
		i := slices.IndexFunc(all, func(m *Model) bool { return m.ID == p.After })
		if i < 0 {
			return nil, app.Errorf(app.Invalid, codeInvalid,
				"pageToken is not one of this list: send the nextPageToken of the page before, or none for the first page.").At("pageToken")
		}
		all = all[i+1:]
	}
	more := len(all) > p.Size
	if more {
		all = all[:p.Size]
	}
	b := []byte(`{"models":[`)
	for i, m := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m.NativeEntry()...)
	}
	b = append(b, ']')
	if more {
		b = jsontree.AppendQuoted(append(b, `,"nextPageToken":`...), all[len(all)-1].ID)
	}
	return append(b, '}'), nil
}
