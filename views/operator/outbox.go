package operator

import (
	"regexp"
	"strings"
	"time"

	"umg/views"
	"umg/views/ui"
)

const outboxPath = "/console/outbox"

const outboxIntro = "The mails that this server would send if a mail server were configured. Everyone who can open this page can read " +
	"them. The page exists in demos only, and mails are deleted after 7 days."

// These are the states of a mail.
const (
	MailQueued = "queued"
	MailSent   = "sent"
	MailFailed = "failed"
	MailKept   = "kept"
)

// OutboxMail is one mail.
type OutboxMail struct {
	ID, Kind, To, Subject string
	Text, HTML            string
	State                 string
	LastError             string
	CreatedAt             time.Time
}

// Outbox is the page with the latest mails.
type Outbox struct {
	views.Shell
	List []OutboxMail
}

// OutboxDetail is the page with one mail.
type OutboxDetail struct {
	views.Shell
	Mail OutboxMail
}

// Path leads to the mail.
func (m OutboxMail) Path() string { return outboxPath + "/" + m.ID }

// status is the badge of a mail.
func (m OutboxMail) status() views.Badge {
	switch m.State {
	case MailQueued:
		return views.Badge{Tone: ui.Plain, Text: "Queued"}
	case MailSent:
		return views.Badge{Tone: ui.Success, Text: "Sent"}
	case MailFailed:
		return views.Badge{Tone: ui.Danger, Text: "Failed"}
	default:
		return views.Badge{Tone: ui.Plain, Text: "Kept here"}
	}
}

// mailPiece is a run of text, or a link.
type mailPiece struct{ text, link string }

// mailLink finds web addresses. What ends a sentence after one does not belong to it.
var mailLink = regexp.MustCompile(`https?://[^\s<>"']*[^\s<>"'.,;:!?)\]]`)

// paragraphs are the lines of each paragraph, with the links in them.
func (m OutboxMail) paragraphs() (all [][][]mailPiece) {
	text := strings.ReplaceAll(m.Text, "\r\n", "\n")
	for paragraph := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		var lines [][]mailPiece
		for line := range strings.SplitSeq(strings.Trim(paragraph, "\n"), "\n") {
			lines = append(lines, mailPieces(line))
		}
		all = append(all, lines)
	}
	return all
}

// mailPieces cuts a line at its links.
func mailPieces(line string) (pieces []mailPiece) {
	for {
		at := mailLink.FindStringIndex(line)
		if at == nil {
			return append(pieces, mailPiece{text: line})
		}
		link := line[at[0]:at[1]]
		pieces = append(pieces, mailPiece{text: line[:at[0]]}, mailPiece{text: link, link: link})
		line = line[at[1]:]
	}
}
