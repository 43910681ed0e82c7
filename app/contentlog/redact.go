package contentlog

import "strings"

const (
	lettersAndDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	secretMax        = 4 << 10  // Redaction decides by at most this many characters whether there is a secret, and covers all of it.
	blockMax         = 16 << 10 // The end of a private key is looked for in this many bytes behind its header.
	betweenMax       = 8        // At most this many spaces, quotes and the like are between a name and its value.
	loginMax         = 256      // The name and password in an address have at most this many characters.
	valueLeast       = 6
	digits           = "0123456789"
)

// rule tells one kind of secret by its form.
type rule struct {
	what   string // What names the secret in the text that replaces it.
	prefix string // Prefix is in lower case when fold is set.
	fold   bool
	edge   bool // Edge means that the prefix must begin a word.
	// find returns where the secret is, for a prefix that ends at a place. None of them looks further than a fixed distance behind
	// what it finds, or else behind the prefix.
	find func(text string, begin, end int) (from, to int, found bool)
}

var (
	wordSet   = charset(lettersAndDigits + "-_")
	tokenSet  = charset(lettersAndDigits + "-_.~+/=")
	plainSet  = charset(lettersAndDigits)
	upperSet  = charset("ABCDEFGHIJKLMNOPQRSTUVWXYZ" + digits)
	digitSet  = charset(digits)
	keySet    = charset(lettersAndDigits + "+/=\\ \n\r\t")
	betweens  = charset(" \t\"'\\:=")
	valueEnds = charset(" \t\r\n\"'\\,;&<>(){}[]`|")
	loginEnds = charset(" \t\r\n\"'\\/?#<>(){}[]`|")
)

// rules are the forms of secrets that are known. The first that fits at a place counts.
var rules = [...]rule{
	{what: "private key", prefix: "-----BEGIN ", find: privateKey},
	{what: "API key", prefix: "sk-umg-", edge: true, find: token(wordSet, 16, false)},
	{what: "API key", prefix: "sk-", edge: true, find: token(wordSet, 16, true)},
	{what: "API key", prefix: "sk_", edge: true, find: token(wordSet, 16, true)},
	{what: "API key", prefix: "rk_", edge: true, find: token(wordSet, 16, true)},
	{what: "API key", prefix: "pk_live_", edge: true, find: token(wordSet, 16, true)},
	{what: "API key", prefix: "gsk_", edge: true, find: token(wordSet, 16, true)},
	{what: "API key", prefix: "xai-", edge: true, find: token(wordSet, 20, true)},
	{what: "API key", prefix: "pplx-", edge: true, find: token(wordSet, 20, true)},
	{what: "API key", prefix: "r8_", edge: true, find: token(wordSet, 20, true)},
	{what: "API key", prefix: "hf_", edge: true, find: token(plainSet, 20, false)},
	{what: "API key", prefix: "AIza", edge: true, find: token(wordSet, 30, false)},
	{what: "API key", prefix: "SG.", edge: true, find: token(tokenSet, 30, true)},
	{what: "access key", prefix: "AKIA", edge: true, find: token(upperSet, 12, false)},
	{what: "access key", prefix: "ASIA", edge: true, find: token(upperSet, 12, false)},
	{what: "webhook secret", prefix: "whsec_", edge: true, find: token(tokenSet, 16, false)},
	{what: "token", prefix: "ghp_", edge: true, find: token(plainSet, 20, false)},
	{what: "token", prefix: "gho_", edge: true, find: token(plainSet, 20, false)},
	{what: "token", prefix: "ghu_", edge: true, find: token(plainSet, 20, false)},
	{what: "token", prefix: "ghs_", edge: true, find: token(plainSet, 20, false)},
	{what: "token", prefix: "ghr_", edge: true, find: token(plainSet, 20, false)},
	{what: "token", prefix: "github_pat_", edge: true, find: token(wordSet, 20, false)},
	{what: "token", prefix: "glpat-", edge: true, find: token(wordSet, 16, false)},
	{what: "token", prefix: "npm_", edge: true, find: token(plainSet, 30, false)},
	{what: "token", prefix: "xoxb-", edge: true, find: token(wordSet, 10, true)},
	{what: "token", prefix: "xoxp-", edge: true, find: token(wordSet, 10, true)},
	{what: "token", prefix: "xoxa-", edge: true, find: token(wordSet, 10, true)},
	{what: "token", prefix: "xapp-", edge: true, find: token(wordSet, 10, true)},
	{what: "token", prefix: "ya29.", edge: true, find: token(wordSet, 20, false)},
	{what: "token", prefix: "eyJ", edge: true, find: token(tokenSet, 40, true)},
	{what: "token", prefix: "bearer ", fold: true, edge: true, find: behind(token(tokenSet, 16, true))},
	{what: "credential", prefix: "authorization", fold: true, find: named},
	{what: "credential", prefix: "api-key", fold: true, find: named},
	{what: "credential", prefix: "api_key", fold: true, find: named},
	{what: "credential", prefix: "apikey", fold: true, find: named},
	{what: "credential", prefix: "access_token", fold: true, find: named},
	{what: "credential", prefix: "refresh_token", fold: true, find: named},
	{what: "credential", prefix: "client_secret", fold: true, find: named},
	{what: "credential", prefix: "access_key", fold: true, find: named},
	{what: "credential", prefix: "secret_key", fold: true, find: named},
	{what: "password", prefix: "password", fold: true, find: named},
	{what: "password", prefix: "passwd", fold: true, find: named},
	{what: "password", prefix: "://", find: login},
}

// byFirst are the rules that begin with a byte.
var byFirst = func() (list [256][]*rule) {
	for i := range rules {
		r := &rules[i]
		first := r.prefix[0]
		list[first] = append(list[first], r)
		if upper := strings.ToUpper(r.prefix)[0]; r.fold && upper != first {
			list[upper] = append(list[upper], r)
		}
	}
	return list
}()

// Redact takes out what has the form of a secret: keys of this service and of others, tokens, values of authorization headers,
// passwords beside their names and in addresses, private keys. It says how many it found. It is best effort: a secret in a form of
// its own, or one that is described or spelt out, is not told from other words. It looks at each byte a bounded number of times.
func Redact(text string) (string, int) {
	var out strings.Builder
	count, copied := 0, 0
	for at := 0; at+1 < len(text); at++ {
		for _, r := range byFirst[text[at]] {
			// This cheap check rejects most words.
			if second := text[at+1]; second != r.prefix[1] && (!r.fold || second|' ' != r.prefix[1]) {
				continue
			}
			from, to, found := r.at(text, at)
			if !found || from < copied {
				continue
			}
			out.WriteString(text[copied:from])
			out.WriteString("[redacted " + r.what + "]")
			copied, at = to, to-1
			count++
			break
		}
	}
	if count == 0 {
		return text, 0
	}
	out.WriteString(text[copied:])
	return out.String(), count
}

func (r *rule) at(text string, at int) (from, to int, found bool) {
	end := at + len(r.prefix)
	if end > len(text) {
		return 0, 0, false
	}
	if head := text[at:end]; head != r.prefix && (!r.fold || !strings.EqualFold(head, r.prefix)) {
		return 0, 0, false
	}
	if r.edge && !begins(text, at) {
		return 0, 0, false
	}
	return r.find(text, at, end)
}

// begins reports whether a word begins here: at the start, behind no character of words, or behind an escape of JSON.
func begins(text string, at int) bool {
	if at == 0 || !wordSet[text[at-1]] {
		return true
	}
	if at >= 2 && text[at-2] == '\\' && strings.IndexByte("nrtbf", text[at-1]) >= 0 {
		return true
	}
	return at >= 6 && text[at-6:at-4] == `\u`
}

// token finds a secret of characters of a set, so many at least behind its prefix, with a digit among them where words of people
// could look like it.
func token(set *[256]bool, least int, digit bool) func(string, int, int) (int, int, bool) {
	return func(text string, begin, end int) (int, int, bool) {
		to, digits := end, 0
		for to < len(text) && to-end < secretMax && set[text[to]] {
			if digitSet[text[to]] {
				digits++
			}
			to++
		}
		if to-end < least || digit && digits == 0 {
			return begin, to, false
		}
		for to < len(text) && set[text[to]] {
			to++
		}
		return begin, to, true
	}
}

// behind finds what follows the prefix, and leaves the prefix.
func behind(find func(string, int, int) (int, int, bool)) func(string, int, int) (int, int, bool) {
	return func(text string, _, end int) (int, int, bool) { return find(text, end, end) }
}

// named finds the value that follows a name and a colon or an equals sign, as headers, JSON, JSON within JSON, forms and settings write it.
func named(text string, _, end int) (int, int, bool) {
	from, said := end, false
	for from < len(text) && from-end < betweenMax && betweens[text[from]] {
		if text[from] == '\\' { // Only an escaped quote or backslash may be here; other text is content.
			if from+1 >= len(text) || text[from+1] != '"' && text[from+1] != '\\' {
				break
			}
			from++
		}
		said = said || text[from] == ':' || text[from] == '='
		from++
	}
	if !said {
		return 0, 0, false
	}
	for _, scheme := range [...]string{"bearer ", "basic ", "token "} {
		if rest := text[from:]; len(rest) > len(scheme) && strings.EqualFold(rest[:len(scheme)], scheme) {
			from += len(scheme)
			break
		}
	}
	to := from
	for to < len(text) && !valueEnds[text[to]] {
		to++
	}
	return from, to, to-from >= valueLeast
}

// login finds the password in an address such as scheme://name:password@host.
func login(text string, _, end int) (int, int, bool) {
	from := 0
	for at := end; at < len(text) && at-end < loginMax && !loginEnds[text[at]]; at++ {
		switch {
		case text[at] == '@' && from > 0 && at > from:
			return from, at, true
		case text[at] == ':' && from == 0:
			from = at + 1
		}
	}
	return 0, 0, false
}

// privateKey finds a block of a private key, also one whose end is missing because the text was cut.
func privateKey(text string, begin, end int) (int, int, bool) {
	const title, tail = "PRIVATE KEY-----", "-----END "
	head := text[end:min(len(text), end+64)]
	at := strings.Index(head, title)
	if at < 0 {
		return 0, 0, false
	}
	to := end + at + len(title)
	near := text[to:min(len(text), to+blockMax)]
	if stop := strings.Index(near, tail); stop >= 0 {
		rest := near[stop+len(tail):]
		if last := strings.Index(rest[:min(len(rest), 64)], title); last >= 0 {
			return begin, to + stop + len(tail) + last + len(title), true
		}
	}
	from := to
	for to < len(text) && to-from < blockMax && keySet[text[to]] {
		to++
	}
	for text[to-1] == '\\' { // The backslash belongs to the quote after it.
		to--
	}
	return begin, to, true
}
