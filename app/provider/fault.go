package provider

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"umg/app"
	"umg/app/provider/credential"
	"umg/app/provider/errorclass"
	"umg/app/provider/http1"
)

// retryAfterMax caps how long an upstream can make a client wait.
const retryAfterMax = time.Minute

// Class says what kind of failure it was, for logs and health.
type Class string

// The classes of faults.
const (
	ClassConnect     Class = "connect"
	ClassDNS         Class = "dns"
	ClassTLS         Class = "tls"
	ClassReset       Class = "reset"
	ClassFirstByte   Class = "first_byte_timeout"
	ClassIdle        Class = "idle_timeout"
	ClassTotal       Class = "total_timeout"
	ClassRateLimited Class = "rate_limited"
	ClassServer      Class = "server_error"
	ClassCredential  Class = "credential"
	ClassRefused     Class = "refused"
	ClassRedirect    Class = "redirect"
	ClassContent     Class = "content"   // The type or the encoding is wrong, or the answer is cut or empty.
	ClassTooLarge    Class = "too_large" // The head, a frame or the body is too large.
	ClassSetup       Class = "setup"     // The catalog is wrong.
	ClassClient      Class = "client_left"
	ClassEnded       Class = "ended" // The gateway ended the attempt, and the client gets the reason.
)

// Retry says where another try may help, as long as nothing was delivered.
type Retry uint8

// These are the places.
const (
	Nowhere   Retry = iota
	Elsewhere       // Elsewhere means the next route.
	Here            // Here means the same route once more, then the next.
)

// A caller cancels an attempt with these causes.
var (
	ErrFirstByte = errors.New("provider: nothing came in time")
	ErrIdle      = errors.New("provider: nothing more came in time")
	ErrTotal     = errors.New("provider: the call took too long")

	// These mean that signs of life came in time, but nothing of the answer.
	ErrNoFirstContent = fmt.Errorf("%w of the answer, only signs of life", ErrFirstByte)
	ErrNoContent      = fmt.Errorf("%w of the answer, only signs of life", ErrIdle)
)

// Fault is a failed attempt.
type Fault struct {
	Class   Class
	Retry   Retry
	After   time.Duration // After is the wait that the upstream asks for, or zero.
	Err     *app.Error    // Err is the client's error when no other route helps.
	Status  int           // Status is that of the upstream's answer, or zero without an answer.
	TooLong bool          // TooLong means that the request exceeds the context of the model.
	Unsent  bool          // Unsent means that nothing of the request can have reached the upstream. Send never sets it.
	// Sent is set by Send alone. The upstream has all of the request, and no status of an answer had come from it.
	Sent bool
	// Meaning is what the upstream's error means. It is empty when the upstream did not answer with an error.
	Meaning errorclass.Meaning
	// Advice is a sentence for the log that says what is wrong with the credential. It may be empty.
	Advice string
}

// Error is the operator's view.
func (f *Fault) Error() string { return "provider: " + string(f.Class) + ": " + f.Err.Error() }

// Unwrap gives the error a client may see.
func (f *Fault) Unwrap() error { return f.Err }

// ProviderWords is what the upstream said about its error, for operators. It has no credential, and nothing that looks like one.
func (f *Fault) ProviderWords() string {
	if said, ok := errors.AsType[*statusError](f.Err); ok {
		return hideKeys(said.message)
	}
	if said, ok := errors.AsType[*credential.TokenError](f.Err); ok {
		return hideKeys(said.Error())
	}
	return ""
}

// classInfo is what a class means to a client and to the gateway.
type classInfo struct {
	retry   Retry
	kind    app.Kind
	code    string
	message string
}

const (
	messageFailed      = "The upstream provider failed to answer. Please try again."
	messageTimeout     = "The upstream provider did not answer in time. Please try again."
	messageNoProvider  = "No provider can take this call right now. Please try again later."
	messageRateLimited = "The upstream provider is receiving too many requests. Please try again in a moment."
	messageUnusable    = "The upstream provider sent an answer that cannot be used. Please try again."
)

var classTable = map[Class]classInfo{
	ClassConnect:     {Here, app.Upstream, "upstream_error", messageFailed},
	ClassDNS:         {Elsewhere, app.Unavailable, "no_available_provider", messageNoProvider},
	ClassTLS:         {Elsewhere, app.Upstream, "upstream_error", messageFailed},
	ClassReset:       {Here, app.Upstream, "upstream_error", messageFailed},
	ClassFirstByte:   {Elsewhere, app.Timeout, "upstream_timeout", messageTimeout},
	ClassIdle:        {Elsewhere, app.Timeout, "upstream_timeout", messageTimeout},
	ClassTotal:       {Nowhere, app.Timeout, "upstream_timeout", messageTimeout},
	ClassRateLimited: {Here, app.Exhausted, "rate_limit_exceeded", messageRateLimited},
	ClassServer:      {Here, app.Upstream, "upstream_error", messageFailed},
	ClassCredential:  {Elsewhere, app.Unavailable, "no_available_provider", messageNoProvider},
	ClassRefused:     {Nowhere, app.Upstream, "upstream_error", "The upstream provider refused the request."},
	ClassRedirect:    {Elsewhere, app.Upstream, "upstream_error", messageUnusable},
	ClassContent:     {Elsewhere, app.Upstream, "upstream_error", messageUnusable},
	ClassTooLarge:    {Elsewhere, app.Upstream, "upstream_error", messageUnusable},
	ClassSetup:       {Elsewhere, app.Unavailable, "no_available_provider", messageNoProvider},
	ClassClient:      {Nowhere, app.Canceled, "client_closed_request", "The client closed the connection."},
}

// NewFault makes a fault of a class.
func NewFault(c Class, cause error) *Fault {
	info := classTable[c]
	return &Fault{Class: c, Retry: info.retry, Err: app.Errorf(info.kind, info.code, "%s", info.message).Because(cause)}
}

// ClientError returns the error code and the message of a client whose call failed with a fault of the class. The message is empty for a
// class whose message has the provider's own words, and both are empty for an unknown class.
func ClientError(c Class) (code, message string) {
	info := classTable[c]
	if c == ClassRefused {
		return info.code, ""
	}
	return info.code, info.message
}

// FaultOf classifies an error of an attempt. The context is the attempt's: its cause tells the gateway's own time-out
// from a client that left, and from an end with its own error for the client, such as a shutdown.
func FaultOf(ctx context.Context, err error) *Fault {
	if known, ok := errors.AsType[*Fault](err); ok {
		return known
	}
	if cause := context.Cause(ctx); cause != nil {
		if class := classOfTimeout(cause); class != "" {
			return NewFault(class, err)
		}
		if reason, ok := errors.AsType[*app.Error](cause); ok {
			return &Fault{Class: ClassEnded, Retry: Nowhere, Err: reason}
		}
		// A client that has only closed its sending half also counts as one that left. The server takes the end of its input for the end of
		// the connection. To distinguish the two the gateway would have to write, and the upstream would have to work on for clients that
		// have left. Such a client gets an error that says so, and pays as one that left.
		return NewFault(ClassClient, err)
	}
	return NewFault(classOf(err), err)
}

// TimedOut is the fault of an attempt that its caller ends with one of the causes above.
func TimedOut(cause error) *Fault { return NewFault(classOfTimeout(cause), cause) }

// classOfTimeout is the class of a cause that means a time-out, and empty for any other.
func classOfTimeout(cause error) Class {
	switch {
	case errors.Is(cause, ErrFirstByte):
		return ClassFirstByte
	case errors.Is(cause, ErrIdle):
		return ClassIdle
	case errors.Is(cause, ErrTotal):
		return ClassTotal
	}
	return ""
}

func classOf(err error) Class {
	var (
		dns    *net.DNSError
		op     *net.OpError
		record tls.RecordHeaderError
		cert   *tls.CertificateVerificationError
		host   x509.HostnameError
		proxy  *http1.ProxyError
	)
	text := err.Error()
	switch {
	case errors.As(err, &dns):
		return ClassDNS
	case errors.As(err, &record), errors.As(err, &cert), errors.As(err, &host), strings.Contains(text, "tls: "),
		strings.Contains(text, "TLS handshake"):
		return ClassTLS
	case errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect"), errors.As(err, &proxy):
		return ClassConnect
	case strings.Contains(text, "response headers exceeded"):
		return ClassTooLarge
	case strings.Contains(text, "malformed"), strings.Contains(text, "invalid header"), errors.Is(err, http.ErrBodyReadAfterClose):
		return ClassContent
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ClassReset
	}
	return ClassReset
}

// NewRefusal is the fault of a call that cannot be sent to a route; e is the client's error. Another route may still take the call.
func NewRefusal(e *app.Error) *Fault { return &Fault{Class: ClassEnded, Retry: Elsewhere, Err: e} }
