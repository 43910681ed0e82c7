package catalog

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"umg/app/preset"
)

// A credential can also be a reference of these forms, beside ${NAME}. Each is the whole text of a credential.
const (
	// FilePrefix and SealedPrefix begin references to a file and to a sealed credential.
	FilePrefix   = "file:"
	SealedPrefix = "sealed:"
)

const (
	// credentialFileBytesMax bounds the file of a credential.
	credentialFileBytesMax = 64 << 10
	// referenceBytesMax bounds the text of a reference, which usage records keep as the id of the credential.
	referenceBytesMax = 200
)

// sealedName is the form of the names of sealed credentials.
var sealedName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// variables is the form of a credential from the environment. One of several parts, such as an access key and its secret, may have a
// variable for each.
var variables = regexp.MustCompile(`^` + referenceForm.String() + `(:` + referenceForm.String() + `){0,2}$`)

// headerBytes is the form of values of headers, which may hold any length of visible text.
var headerBytes = regexp.MustCompile(`^[\t\x20-\x7e\x80-\xff]*$`)

// IsSealedName reports whether a sealed credential may have the name.
func IsSealedName(name string) bool { return sealedName.MatchString(name) }

// SealedCredential is the value of a sealed credential, or why the value cannot be used.
type SealedCredential struct {
	Value   Secret
	Problem string
}

// Sources find the values of the references of a catalog.
type Sources struct {
	// Env finds the value of a ${NAME} reference.
	Env SecretLookup
	// Sealed are the sealed credentials by name.
	Sealed map[string]SealedCredential
	// CheckValue returns why a credential cannot be used with a kind of auth; its error has nothing of the value. It may be nil.
	CheckValue func(Auth, Secret) error
	// presets are those of an earlier program that are still in force, by provider.
	presets map[string]*preset.Preset
}

// badReference returns the problem of the reference of a credential, or an empty string.
func badReference(text string) string {
	path, isFile := strings.CutPrefix(text, FilePrefix)
	name, isSealed := strings.CutPrefix(text, SealedPrefix)
	switch {
	case len(text) > referenceBytesMax:
		return fmt.Sprintf("is longer than %d bytes", referenceBytesMax)
	case isFile && (!filepath.IsAbs(path) || filepath.Clean(path) != path || strings.ContainsFunc(path, func(c rune) bool { return c < ' ' })):
		return "must name the file by its whole path, such as file:/run/secrets/key"
	case isSealed && !IsSealedName(name):
		return "must name a sealed credential by letters, digits, dots, hyphens and underscores, such as sealed:main"
	case !isFile && !isSealed && !variables.MatchString(text):
		return "must be a reference like ${NAME}, sealed:NAME or file:/path; secrets are never written into a catalog"
	}
	return ""
}

// SealedNames lists the sealed credentials that the file names, each with the ids of its providers.
func (f File) SealedNames() map[string][]string {
	names := map[string][]string{}
	for i := range f.Providers {
		p := &f.Providers[i]
		for _, text := range append([]string{p.Credential}, p.Credentials...) {
			if name, isSealed := strings.CutPrefix(text, SealedPrefix); isSealed {
				names[name] = append(names[name], p.ID)
			}
		}
	}
	return names
}

// CheckReferences lists what is wrong with the values of the references of a file: a value that is missing or empty, a file that cannot
// be read, a sealed credential that does not exist, and a value that its provider's kind of auth cannot use. A disabled provider needs no
// values.
func CheckReferences(f File, s Sources) []error {
	var all []error
	for i := range f.Providers {
		if f.Providers[i].Disabled {
			continue
		}
		_, r := f.Providers[i].resolve(&s)
		for _, problem := range r.problems {
			problem.Path = fmt.Sprintf("providers[%d].%s", i, problem.Path)
			all = append(all, problem)
		}
	}
	return all
}

// resolver finds the values of the references of one provider.
type resolver struct {
	sources  *Sources
	auth     Auth
	problems []FileError
	// files are the contents of the files of credentials by path; zero for one that cannot be read.
	files map[string]Secret
}

func (r *resolver) addf(field, format string, args ...any) {
	r.problems = append(r.problems, FileError{Path: field, Text: fmt.Sprintf(format, args...)})
}

// reasons are the problems in one line.
func (r *resolver) reasons() string {
	texts := make([]string, len(r.problems))
	for i, problem := range r.problems {
		texts[i] = problem.Error()
	}
	return strings.Join(texts, "; ")
}

// fill returns a text with the values of its ${NAME} references.
func (r *resolver) fill(field, text string) string {
	return referenceForm.ReplaceAllStringFunc(text, func(whole string) string {
		name := whole[2 : len(whole)-1]
		value, isSet := r.sources.Env(name)
		switch {
		case !isSet:
			r.addf(field, "the variable %s is not set", name)
		case value == "":
			r.addf(field, "the variable %s is empty", name)
		}
		return value
	})
}

// credential returns the value of the reference of a credential. It is zero for an empty text, and after a problem.
func (r *resolver) credential(field, text string) Secret {
	before := len(r.problems)
	var value Secret
	if path, isFile := strings.CutPrefix(text, FilePrefix); isFile {
		value = r.file(field, path)
	} else if name, isSealed := strings.CutPrefix(text, SealedPrefix); isSealed {
		value = r.sealed(field, name)
	} else {
		value = NewSecret(r.fill(field, text))
	}
	if len(r.problems) > before || value.IsZero() {
		return value
	}
	if r.sources.CheckValue != nil {
		if err := r.sources.CheckValue(r.auth, value); err != nil {
			r.addf(field, "the value of %s cannot be used: %s", text, err)
		}
	}
	return value
}

func (r *resolver) sealed(field, name string) Secret {
	sealed, isKnown := r.sources.Sealed[name]
	switch {
	case !isKnown:
		r.addf(field, "there is no sealed credential %s", name)
	case sealed.Problem != "":
		r.addf(field, "the sealed credential %s %s", name, sealed.Problem)
	}
	return sealed.Value
}

func (r *resolver) file(field, path string) Secret {
	text, err := readCredentialFile(path)
	if err != nil {
		r.addf(field, "the file %s %s", path, err)
	}
	if r.files == nil {
		r.files = map[string]Secret{}
	}
	r.files[path] = NewSecret(text)
	return r.files[path]
}

// readCredentialFile returns the text of a small file without its last line end. Its errors complete a sentence that begins with the path.
func readCredentialFile(path string) (string, error) {
	about, err := os.Stat(path)
	if err == nil && !about.Mode().IsRegular() {
		return "", errors.New("is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", withoutPath(err))
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, credentialFileBytesMax+1))
	if err != nil {
		return "", fmt.Errorf("cannot be read: %w", withoutPath(err))
	}
	value := strings.TrimRight(string(text), "\r\n")
	switch {
	case len(text) > credentialFileBytesMax:
		return "", fmt.Errorf("holds more than %d KiB", credentialFileBytesMax>>10)
	case strings.TrimSpace(value) == "":
		return "", errors.New("is empty")
	}
	return value, nil
}

// withoutPath returns the cause of a file error.
func withoutPath(err error) error {
	if of, ok := errors.AsType[*os.PathError](err); ok {
		return of.Err
	}
	return err
}

// hasChangedFiles reports whether the file of a credential has another content than when the snapshot was made.
func (s *Snapshot) hasChangedFiles() bool {
	for path, before := range s.files {
		// A file that cannot be read is an empty text.
		if text, _ := readCredentialFile(path); NewSecret(text) != before {
			return true
		}
	}
	return false
}
