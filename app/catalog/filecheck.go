package catalog

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"umg/app/llm"
	"umg/app/meter"
)

// Names have these forms, because they are parts of URLs, headers and logs.
var (
	referenceForm = regexp.MustCompile(`\$\{([A-Z][A-Z0-9_]*)\}`)
	providerID    = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	modelID       = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}(/[a-z0-9][a-z0-9._-]{0,62})?(:[a-z0-9][a-z0-9-]{0,30})?$`)
	headerName    = regexp.MustCompile(`^[a-z0-9!#$%&'*+.^_|~-]{1,64}$`)
	sizeForm      = regexp.MustCompile(`^[1-9][0-9]{1,4}x[1-9][0-9]{1,4}$`)
	assetGroup    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	headerValue   = regexp.MustCompile(`^[\x20-\x7e]{0,1000}$`)
)

// operationVideos is the operation whose aliases are prefixes of paths.
const operationVideos = "videos"

const (
	timeoutMax       = time.Hour
	limitMax   int64 = 1 << 40
	routesMax        = 32
	modelsMax        = 10_000
	assetsMax        = 32
)

// A file may use these words where it has a choice.
var (
	knownKinds        = []string{string(KindText), string(KindImage), string(KindVideo), string(KindSpeech)}
	knownCapabilities = []string{"text", "image", "video", "speech", "code"}
	knownModalities   = []string{"text", "image", "audio", "video", "file"}
	aliasedHeaders    = []string{"authorization", "vendorb-version", "vendorb-beta", "poll-hint", "processing-ms"}
	aliasedOperations = []string{"messages", "messages.count", "native", "native.stream", "native.count", operationVideos}
	secretHeaders     = []string{"authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie", "proxy-authorization"}
)

// neededMeters are the meters for which a kind of model must have prices, as alternatives of meters that belong together.
var neededMeters = map[Kind][][]meter.Meter{
	KindText:   {{meter.InputTokens, meter.OutputTokens}},
	KindImage:  {{meter.Images}, {meter.InputTokens, meter.OutputTokens}},
	KindVideo:  {{meter.Seconds}},
	KindSpeech: {{meter.Characters}, {meter.Seconds}},
}

// FileError is one problem of a file.
type FileError struct {
	// Path is the path in the file, such as models[3].routes[0].provider.
	Path string
	Text string
	// Line is where the path is in the text of the file. AddLines sets it.
	Line int
}

// Error is the problem in one line.
func (p FileError) Error() string {
	text := p.Path + ": " + p.Text
	if p.Line > 0 {
		text = fmt.Sprintf("line %d: %s", p.Line, text)
	}
	return text
}

// problems collects the problems of the fields below one path.
type problems struct {
	path string
	all  *[]error
}

func (p problems) addf(field, format string, args ...any) {
	*p.all = append(*p.all, FileError{Path: p.join(field), Text: fmt.Sprintf(format, args...)})
}

func (p problems) join(field string) string {
	switch {
	case field == "":
		return p.path
	case p.path == "" || field[0] == '[':
		return p.path + field
	default:
		return p.path + "." + field
	}
}

func (p problems) at(format string, args ...any) problems {
	return problems{path: p.join(fmt.Sprintf(format, args...)), all: p.all}
}

// oneOf reports a word that is not in a list.
func (p problems) oneOf(field, word string, known []string) {
	if !slices.Contains(known, word) {
		p.addf(field, "%q is not one of %s", word, strings.Join(known, ", "))
	}
}

// Check lists all problems of a file in its order. It returns nil when the file can be applied.
func Check(f File) []error {
	var all []error
	p := problems{all: &all}
	contracts, err := newContractCheck()
	if err != nil {
		return []error{err}
	}
	checkAliases(p.at("aliases"), f.Aliases)
	providers := map[string]*FileProvider{}
	for i := range f.Providers {
		provider := &f.Providers[i]
		at := p.at("providers[%d]", i)
		if providers[provider.ID] != nil {
			at.addf("id", "provider %q is there twice", provider.ID)
		}
		expanded := provider.Expanded()
		providers[provider.ID] = &expanded
		provider.check(at)
	}
	if len(f.Models) > modelsMax {
		p.addf("models", "%d models are more than %d", len(f.Models), modelsMax)
	}
	f = f.withFamilies()
	seen := map[string]bool{}
	for i := range f.Models {
		m := &f.Models[i]
		at := p.at("models[%d]", i)
		if seen[m.ID] {
			at.addf("id", "model %q is there twice", m.ID)
		}
		seen[m.ID] = true
		m.check(at)
		m.checkRoutes(at, providers)
		m.checkMarkup(at)
		m.checkRequiredPrices(at, providers)
		m.checkAssets(at, providers)
		contracts.check(at, m)
	}
	byID := map[string]*FileModel{}
	for i := range f.Models {
		byID[f.Models[i].ID] = &f.Models[i]
	}
	checkModelAliases(p, f.Models)
	checkAccounts(p, f.Models, byID)
	for i := range f.Models {
		f.Models[i].checkSuccessor(p.at("models[%d]", i), seen)
		f.Models[i].checkLonger(p.at("models[%d]", i), byID)
		f.Models[i].checkFallbacks(p.at("models[%d]", i), byID)
	}
	return all
}

func (v *FileProvider) check(p problems) {
	if !providerID.MatchString(v.ID) {
		p.addf("id", "%q must be small letters, digits and hyphens", v.ID)
	}
	if v.Name == "" && v.Preset == "" {
		p.addf("name", "is missing")
	}
	v.checkPreset(p)
	if reason := badBaseURL(v.BaseURL); reason != "" && (v.BaseURL != "" || v.Preset == "") {
		p.addf("base_url", "%s", reason)
	}
	v.checkCredentials(p)
	if v.CredentialHeader != "" && !headerName.MatchString(v.CredentialHeader) {
		p.addf("credential_header", "%q is not the name of a header in lower case", v.CredentialHeader)
	}
	v.checkAuth(p)
	checkStyles(p, "styles", v.Styles, contactStyles())
	checkStyles(p, "prefill", v.Prefill, llm.Styles())
	for _, style := range sortedKeys(v.Paths) {
		checkStyles(p, "paths", []llm.Style{style}, contactStyles())
		if !strings.HasPrefix(v.Paths[style], "/") {
			p.addf("paths."+string(style), "must start with /")
		}
	}
	v.checkHeaders(p)
	if v.Assets != (FileAssets{}) && !assetGroup.MatchString(v.Assets.Group) {
		p.addf("assets.group", "%q must begin with a letter or digit and hold only letters, digits, dots, hyphens and underscores, at most 63",
			v.Assets.Group)
	}
	v.checkUsage(p)
	v.checkSpend(p)
	v.Timeouts.check(p.at("timeouts"))
	v.Breaker.check(p.at("breaker"))
	checkLimit(p.at("limits"), "concurrency", v.Limits.Concurrency)
	checkLimit(p.at("limits"), "requests_per_minute", v.Limits.RequestsPerMinute)
}

// checkHeaders checks the names and values of the provider's own headers.
func (v *FileProvider) checkHeaders(p problems) {
	for _, name := range sortedKeys(v.Headers) {
		value := v.Headers[name]
		switch {
		case !headerName.MatchString(name):
			p.addf("headers", "%q is not the name of a header in lower case", name)
		case !headerValue.MatchString(value):
			p.addf("headers."+name, "holds characters that no header may have")
		case strings.Contains(referenceForm.ReplaceAllString(value, ""), "${"):
			p.addf("headers."+name, "holds a reference that is not like ${NAME}")
		case slices.Contains(secretHeaders, name) && !referenceForm.MatchString(value):
			p.addf("headers."+name, "must be a reference like ${NAME}; secrets are never written into a catalog")
		}
	}
}

// badBaseURL returns the problem of a base URL, or an empty string. A reference may begin the URL; its value is known only when the
// catalog is loaded.
func badBaseURL(s string) string {
	if rest := referenceForm.ReplaceAllString(s, "x"); strings.Contains(rest, "${") {
		return "holds a reference that is not like ${NAME}"
	}
	if strings.HasPrefix(s, "${") {
		s = "https://host.invalid" + s[strings.Index(s, "}")+1:]
	}
	return badURL(referenceForm.ReplaceAllString(s, "x"))
}

func isHTTP(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

func badURL(s string) string {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return "is missing"
	case err != nil || !isHTTP(u):
		return "must be an http or https address"
	case u.User != nil:
		return "must not hold a name or a password"
	case u.RawQuery != "" || u.Fragment != "":
		return "must not hold a query or a fragment"
	}
	return ""
}

func (t FileTimeouts) check(p problems) {
	for _, wait := range []struct {
		name string
		d    Duration
	}{{"connect", t.Connect}, {"first_byte", t.FirstByte}, {"idle", t.Idle}, {"content", t.Content}, {"total", t.Total}} {
		checkTimeout(p, wait.name, wait.d)
	}
}

func checkTimeout(p problems, name string, d Duration) {
	if d < 0 || time.Duration(d) > timeoutMax {
		p.addf(name, "%s is not between 0 and %s", time.Duration(d), timeoutMax)
	}
}

func checkLimit(p problems, name string, n int64) {
	if n < 0 || n > limitMax {
		p.addf(name, "%d is not between 0 and %d", n, limitMax)
	}
}

func checkStyles(p problems, field string, styles, known []llm.Style) {
	seen := map[llm.Style]bool{}
	for _, style := range styles {
		if !slices.Contains(known, style) {
			p.addf(field, "%q is not one of the styles %v", style, known)
		}
		if seen[style] {
			p.addf(field, "%q is there twice", style)
		}
		seen[style] = true
	}
}
