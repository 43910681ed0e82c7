// Package page is what the pages of all areas of the console share: a request with its reader and session (Page), and the rendering
// of pages, redirects and streams of events (Renderer). Handlers take a *Page; one adapter of the console turns the requests of the
// HTTP framework into pages.
package page

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/sessions"

	"umg/app"
	"umg/app/account"
	"umg/app/admission"
	"umg/app/console/notices"
)

const (
	// ConsolePath is the path of the console's first page. The paths of all others begin with it.
	ConsolePath = "/console"
	// SignInPath is the path of the page that visitors sign in on.
	SignInPath = ConsolePath + "/sign-in"

	// LanguageCookie names the cookie with the language of code samples.
	LanguageCookie = "umg_language"
	// StyleCookie names the cookie with the API style that the reader chose last.
	StyleCookie = "umg_style"
	// ShortcutsCookie names the cookie that says whether single-key shortcuts are off.
	ShortcutsCookie = "umg_shortcuts"
	// ShortcutsOff is the value of ShortcutsCookie when single-key shortcuts are off.
	ShortcutsOff = "off"
	// AccountValue names the session value with the id of the account that the user chose to work in.
	AccountValue = "account"

	themeCookie   = "umg_theme"
	formBytesHeld = 32 << 20 // Larger uploads go to temporary files.
)

// RoutedRequest is one request as the router passes it on.
type RoutedRequest struct {
	Response  http.ResponseWriter
	Request   *http.Request
	Param     func(name string) string // Param returns the value of a part of the path, such as :id.
	IP        string                   // IP is the address of the client, behind trusted proxies.
	RequestID string
}

// Page is one request for a page: the request, the reader who sent it and their session. Handlers answer it by its methods or
// those of Renderer.
type Page struct {
	Session *sessions.Session
	User    account.User // User is the reader. It is the zero value for visitors, who are not signed in.
	// Place is the place of the request in admission control. Streams of events leave it early.
	Place *admission.Place
	// MustEnrol is set for operators who have not set up multi-factor authentication. They have no operator rights yet.
	MustEnrol bool

	in    RoutedRequest
	query url.Values // The first call of QueryParams parses the query.
}

// NewPage returns the page of a request whose session is not read, such as an error page. Renderer.Open reads the session.
func NewPage(in RoutedRequest) *Page { return &Page{in: in} }

// Request returns the HTTP request.
func (p *Page) Request() *http.Request { return p.in.Request }

// Response returns the writer of the HTTP response.
func (p *Page) Response() http.ResponseWriter { return p.in.Response }

// RequestID returns the id of the request, which the response header and the log carry.
func (p *Page) RequestID() string { return p.in.RequestID }

// RealIP returns the address of the client, behind trusted proxies.
func (p *Page) RealIP() string { return p.in.IP }

// Param returns the value of a part of the path, such as :id.
func (p *Page) Param(name string) string { return p.in.Param(name) }

// QueryParams returns the parameters of the query.
func (p *Page) QueryParams() url.Values {
	if p.query == nil {
		p.query = p.in.Request.URL.Query()
	}
	return p.query
}

// QueryParam returns the first value of a parameter of the query.
func (p *Page) QueryParam(name string) string { return p.QueryParams().Get(name) }

// FormValue returns the first value of a form field, or of the query parameter of that name.
func (p *Page) FormValue(name string) string { return p.in.Request.FormValue(name) }

// ReplaceURL lets the script of a page show the address of what it asked for. It does nothing when the browser itself asks.
func (p *Page) ReplaceURL(path string) {
	if p.ForScript() {
		p.Response().Header().Set("HX-Replace-Url", path)
	}
}

// ReadForm reads a sent form to the end of its body, and returns its fields. The server's time limit for a body ends only there, and an
// answer may take longer. At most memoryMax bytes of files stay in memory. If the body is too large, the error says tooLarge.
func (p *Page) ReadForm(memoryMax int64, tooLarge string) (url.Values, error) {
	r := p.in.Request
	err := r.ParseMultipartForm(memoryMax)
	if errors.Is(err, http.ErrNotMultipart) {
		err = nil // ParseMultipartForm has parsed the plain form.
	}
	if err == nil {
		_, err = io.Copy(io.Discard, r.Body)
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, app.Errorf(app.TooLarge, "request_too_large", "%s", tooLarge)
	}
	if err != nil {
		return nil, app.Errorf(app.Invalid, "invalid_body", "The form could not be read.").Because(err)
	}
	return r.PostForm, nil
}

// FormParams returns all form fields and query parameters.
func (p *Page) FormParams() (url.Values, error) {
	r := p.in.Request
	var err error
	if strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data") {
		err = r.ParseMultipartForm(formBytesHeld)
	} else {
		err = r.ParseForm()
	}
	if err != nil {
		return nil, err
	}
	return r.Form, nil
}

// Cookie returns the value of a cookie, or an empty string without it.
func (p *Page) Cookie(name string) string { return cookieOf(p.in.Request, name) }

func cookieOf(r *http.Request, name string) string {
	cookie, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// Language returns the programming language in which the reader wants code samples. It is empty without a choice.
func (p *Page) Language() string { return p.Cookie(LanguageCookie) }

// ForScript reports whether a script of an open page sent the request, to replace a part of that page.
func (p *Page) ForScript() bool { return forScript(p.in.Request) }

// SignedIn reports whether the reader is signed in.
func (p *Page) SignedIn() bool { return p.User.ID != "" }

// LimitFactor returns the multiplier of the usual rate limits that the reader's account has. It is at least 1.
func (p *Page) LimitFactor() int { return max(p.User.LimitFactor, 1) }

// Principal returns the reader as a principal of their account.
func (p *Page) Principal() app.Principal {
	who := p.User.Principal()
	who.SessionID = account.SessionID(p.Session)
	who.From = app.Origin{IP: p.RealIP(), Agent: p.Request().UserAgent(), RequestID: p.RequestID()}
	return who
}

// NoticeReader returns the reader as the reader of their notices.
func (p *Page) NoticeReader() notices.Reader {
	return notices.Reader{User: p.User, Principal: p.Principal()}
}

// Blob writes a whole response. A content type that was set before stays.
func (p *Page) Blob(status int, contentType string, body []byte) error {
	if h := p.in.Response.Header(); h.Get("Content-Type") == "" {
		h.Set("Content-Type", contentType)
	}
	p.in.Response.WriteHeader(status)
	_, err := p.in.Response.Write(body)
	return err
}

// JSON writes a value as JSON.
func (p *Page) JSON(status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return p.Blob(status, "application/json", append(body, '\n'))
}

// NoContent writes a response without a body.
func (p *Page) NoContent(status int) error {
	p.in.Response.WriteHeader(status)
	return nil
}

// Redirect sends the browser to another page.
func (p *Page) Redirect(status int, target string) error {
	p.in.Response.Header().Set("Location", target)
	return p.NoContent(status)
}

// Navigate leads to another page. A script that asked for a part of a page would put a redirect's target into that page, so it gets
// the header that makes it leave the page.
func (p *Page) Navigate(target string) error {
	if p.ForScript() {
		p.in.Response.Header().Set("HX-Redirect", target)
		return p.NoContent(http.StatusNoContent)
	}
	return p.Redirect(http.StatusSeeOther, target)
}

// ToSignIn leads a visitor to the sign-in page, which leads back to the requested page afterwards.
func (p *Page) ToSignIn() error {
	target := SignInPath
	if next := RequestedPage(p.in.Request); next != ConsolePath {
		target += "?next=" + url.QueryEscape(next)
	}
	return p.Navigate(target)
}

const (
	toastTone = "toast_tone"
	toastText = "toast_text"
)
