package assetapi

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"umg/app/provider"
)

// These limits apply to the members of an item.
const (
	idBytesMax     = 256
	statusBytesMax = 64
	extraBytesMax  = 16 << 10
)

// knownMembers are the members of an item that the gateway reads.
var knownMembers = []string{"id", "group_id", "type", "url", "name", "reference", "status", "error", "created_at"}

// item reads one item of an answer.
func (a *answer) item(raw []byte) (Item, *provider.Fault) {
	item, err := parseItem(raw)
	if err != nil {
		return Item{}, provider.NewFault(provider.ClassContent, err)
	}
	item.Reason = a.reply.Redact(item.Reason)
	if a.reply.HasCredential(string(item.Extra)) {
		item.Extra = nil
	}
	return item, nil
}

// parseItem reads an item. Members other than the id may be missing, but may not have another type.
func parseItem(raw []byte) (Item, error) {
	var parsed struct {
		ID        string `json:"id"`
		Reference string `json:"reference"`
		Status    string `json:"status"`
		Error     *struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
		CreatedAt int64 `json:"created_at"`
	}
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return Item{}, errors.Join(errShape, err)
	}
	if parsed.ID == "" || len(parsed.ID) > idBytesMax || strings.ContainsFunc(parsed.ID, isUnprintable) ||
		len(parsed.Status) > statusBytesMax || strings.ContainsFunc(parsed.Status, isUnprintable) {
		return Item{}, errShape
	}
	item := Item{ID: parsed.ID, Reference: parsed.Reference, Status: parsed.Status}
	if parsed.Error != nil {
		item.Reason = parsed.Error.Message
		if item.Reason == "" {
			item.Reason = parsed.Error.Code
		}
	}
	if parsed.CreatedAt > 0 {
		item.CreatedAt = time.Unix(parsed.CreatedAt, 0).UTC()
	}
	return item, extra(raw, &item)
}

// isUnprintable reports whether a character may not be in an id or a status.
func isUnprintable(r rune) bool { return !unicode.IsPrint(r) }

// extra takes over the unknown members, unless they are too large together.
func extra(raw []byte, item *Item) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return errors.Join(errShape, err)
	}
	for name := range all {
		if slices.ContainsFunc(knownMembers, func(k string) bool { return strings.EqualFold(k, name) }) {
			delete(all, name)
		}
	}
	if len(all) == 0 {
		return nil
	}
	body, err := json.Marshal(all)
	if err != nil {
		return errors.Join(errShape, err)
	}
	if len(body) <= extraBytesMax && utf8.Valid(body) {
		item.Extra = body
	}
	return nil
}
