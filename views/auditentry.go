package views

import (
	"strings"
	"time"

	"umg/views/format"
)

// AuditEntry is one thing that was done.
type AuditEntry struct {
	ID        string
	At        time.Time
	Actor     string // Actor is AuditUser, AuditKey, AuditOperator or AuditSystem.
	ActorID   string
	ActorName string
	Words     string // Words say what was done, and follow the actor.
	Object    string // Object is the id of the object; empty for the account itself.
	Name      string
	Href      string // Href is the address of the object's page; empty without one.
	IP        string
	Agent     string
	RequestID string
	Changes   []AuditChange
}

// AuditChange is one field with its values before and after, empty for none.
type AuditChange struct{ Field, From, To string }

// These are the kinds of actors.
const (
	AuditUser     = "user"
	AuditKey      = "key"
	AuditOperator = "operator"
	AuditSystem   = "system"
)

// who returns the display name of the actor.
func (e AuditEntry) who() string {
	switch {
	case e.Actor == AuditOperator:
		return "The operator of this server"
	case e.Actor == AuditSystem:
		return "The gateway"
	case e.ActorName != "":
		return e.ActorName
	case e.ActorID != "":
		return e.ActorID
	}
	return "Unknown"
}

// kind returns the kind of the actor, where the name does not show it.
func (e AuditEntry) kind() string {
	switch e.Actor {
	case AuditUser:
		return "Member"
	case AuditKey:
		return "API key"
	case AuditOperator:
		if strings.HasPrefix(e.Agent, operatorCommand) {
			return "By command"
		}
		return "In the console"
	}
	return "By itself"
}

// operatorCommand is what the programs are called by which operators do things, before the command.
const operatorCommand = "gateway "

// browsed reports whether it was done with a browser.
func (e AuditEntry) browsed() bool {
	return e.Agent != "" && e.Actor == AuditUser
}

// on is the display name of the object of the change.
func (e AuditEntry) on() string {
	if e.Name != "" {
		return e.Name
	}
	return e.Object
}

// agent is the name of the program that made the change: of a browser, its name and system alone.
func (e AuditEntry) agent() string {
	if e.browsed() {
		return Device(e.Agent)
	}
	return e.Agent
}

// changed says how many fields differ.
func (e AuditEntry) changed() string {
	if len(e.Changes) == 1 {
		return "Details: " + e.Changes[0].label()
	}
	return "Details: " + format.CountOf(int64(len(e.Changes)), "field", "fields")
}

// label is the field's name as people read it.
func (c AuditChange) label() string { return strings.ReplaceAll(c.Field, "_", " ") }
