package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
)

// Security is how the way to the mail server is protected.
type Security string

// These are the ways to protect the connection.
const (
	StartTLS Security = "starttls" // The connection must upgrade to TLS before login and mail.
	TLS      Security = "tls"      // The connection has TLS from the first byte.
	NoTLS    Security = "none"     // NoTLS is for a server on loopback or on a private network.
)

const (
	halfMax  = 10 * time.Second // An attempt has this timeout twice: for connecting and login, and for the transfer.
	wordsMax = 500              // This many bytes of an error are stored.
)

// SMTP is the mail server.
type SMTP struct {
	Host     string
	Port     int
	Security Security
	Username string // An empty Username means that the server needs no login.
	Password string
	TLS      *tls.Config // A nil TLS trusts the certificate authorities of the system.
}

// ParseSMTP reads smtp://user:password@host:587 (STARTTLS; none with ?security=none) or smtps://user:password@host:465.
func ParseSMTP(address string) (*SMTP, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "smtp" && u.Scheme != "smtps") || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		// The address may hold a password, so it is not repeated.
		return nil, errors.New("the mail server must be smtp://user:password@host:587 or smtps://user:password@host:465")
	}
	s := &SMTP{Host: u.Hostname(), Port: 587, Security: StartTLS, Username: u.User.Username()}
	s.Password, _ = u.User.Password()
	if u.Scheme == "smtps" {
		s.Port, s.Security = 465, TLS
	}
	for name, values := range u.Query() {
		if name != "security" || len(values) != 1 || u.Scheme != "smtp" || values[0] != string(StartTLS) && values[0] != string(NoTLS) {
			return nil, errors.New("the only parameter of a mail server is security, which is starttls or none, of smtp://")
		}
		s.Security = Security(values[0])
	}
	if u.Port() != "" {
		s.Port, err = strconv.Atoi(u.Port())
	}
	return s, errors.Join(err, s.check())
}

func (s *SMTP) check() error {
	switch {
	case s.Host == "" || s.Port < 1 || s.Port > 65535:
		return errors.New("mail: the mail server needs a host and a port from 1 to 65535")
	case s.Security != StartTLS && s.Security != TLS && s.Security != NoTLS:
		return fmt.Errorf("mail: %q is no way to protect mail; take starttls, tls or none", s.Security)
	case (s.Username == "") != (s.Password == ""):
		return errors.New("mail: the mail server has a user without a password, or a password without a user")
	}
	return nil
}

// permanentError says that the server will never take a mail.
type permanentError struct{ error }

// transmit hands one mail to the server. A mail that was taken counts as sent, whatever goes wrong afterwards.
func (s *Service) transmit(ctx context.Context, m Mail) error {
	message, err := s.compose(m)
	if err != nil {
		return permanentError{err}
	}
	way := &smtpConn{SMTP: s.o.SMTP}
	defer way.close()
	client, err := way.client()
	if err != nil {
		return err
	}
	err = client.DialAndSendWithContext(ctx, message)
	if err == nil || message.IsDelivered() {
		return nil
	}
	if said, ok := errors.AsType[*gomail.SendError](err); ok && said.ErrorCode() >= 500 && said.ErrorCode() <= 599 {
		return permanentError{err}
	}
	return err
}

// compose writes the mail. Its id stays the same in every attempt, so that a mailbox can tell a repeat.
func (s *Service) compose(m Mail) (*gomail.Msg, error) {
	message := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	message.FromMailAddress(s.from)
	message.ToMailAddress(&netmail.Address{Address: m.To})
	message.Subject(m.Subject)
	message.SetDateWithValue(m.CreatedAt)
	message.SetMessageIDWithValue(m.ID + s.from.Address[strings.LastIndexByte(s.from.Address, '@'):])
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	message.SetBodyString(gomail.TypeTextPlain, m.Text)
	if m.HTML != "" {
		message.AddAlternativeString(gomail.TypeTextHTML, m.HTML)
	}
	_, err := message.GetRecipients()
	return message, err
}

// smtpConn is the connection of one attempt.
type smtpConn struct {
	*SMTP

	conn net.Conn
}

// client makes a client that goes this way.
func (w *smtpConn) client() (*gomail.Client, error) {
	policy := gomail.TLSMandatory
	switch w.Security {
	case NoTLS:
		policy = gomail.NoTLS
	case TLS:
		policy = gomail.TLSOpportunistic // The connection is already encrypted.
	}
	options := []gomail.Option{
		gomail.WithPort(w.Port), gomail.WithTimeout(halfMax), gomail.WithTLSPolicy(policy), gomail.WithTLSConfig(w.config()),
		gomail.WithoutNoop(), gomail.WithoutRset(), gomail.WithDialContextFunc(w.dial),
	}
	if w.Username != "" {
		options = append(options,
			gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(w.Username), gomail.WithPassword(w.Password))
	}
	return gomail.NewClient(w.Host, options...)
}

func (w *smtpConn) config() *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if w.TLS != nil {
		config = w.TLS.Clone()
	}
	if config.ServerName == "" {
		config.ServerName = w.Host
	}
	return config
}

// dial opens the connection, and keeps it so that it can be closed: the client forgets those that it is not let in on.
func (w *smtpConn) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w.conn = conn
	if w.Security != TLS {
		return conn, nil
	}
	secure := tls.Client(conn, w.config())
	return secure, secure.HandshakeContext(ctx)
}

func (w *smtpConn) close() {
	if w.conn != nil {
		_ = w.conn.Close()
	}
}
