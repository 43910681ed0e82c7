package mail

import (
	"encoding/json"
	"fmt"
)

// body is what is sealed of a mail: links in it may let their reader in, and a copy of the database must not.
type body struct {
	Text string `json:"text"`
	HTML string `json:"html,omitempty"`
}

// sealBody moves text and page of a mail into their sealed form.
func (s *Service) sealBody(m *Mail) error {
	plain, err := json.Marshal(body{Text: m.Text, HTML: m.HTML})
	if err != nil {
		return fmt.Errorf("mail: encode a body: %w", err)
	}
	m.Sealed, m.Text, m.HTML = s.bodies.Seal(plain, m.ID), "", ""
	return nil
}

// openBody is the way back. A mail that was sent or given up has no body any more.
func (s *Service) openBody(m *Mail) error {
	if m.Sealed == nil {
		return nil
	}
	plain, err := s.bodies.Open(m.Sealed, m.ID)
	if err != nil {
		return fmt.Errorf("mail: open the body of %s: %w", m.ID, err)
	}
	var b body
	if err := json.Unmarshal(plain, &b); err != nil {
		return fmt.Errorf("mail: decode the body of %s: %w", m.ID, err)
	}
	m.Text, m.HTML, m.Sealed = b.Text, b.HTML, nil
	return nil
}
