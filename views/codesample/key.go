package codesample

import (
	"slices"
	"strings"
)

// KeyVariable is the environment variable that holds the key in all code of the console, the documentation and the README.
const KeyVariable = "UMG_API_KEY"

// KeyPlaceholder is put in place of a key where a program takes the key itself, such as a settings file.
const KeyPlaceholder = "YOUR_API_KEY"

// keyExpressions read the key from its variable, and keyHeaders make the value of the header Authorization of it.
var (
	keyExpressions = map[string]string{
		"curl": "$" + KeyVariable, "python": `os.environ["` + KeyVariable + `"]`, "javascript": "process.env." + KeyVariable,
		"go": `os.Getenv("` + KeyVariable + `")`,
	}
	keyHeaders = map[string]string{
		"python": `"Bearer " + os.environ["` + KeyVariable + `"]`, "javascript": "`Bearer ${process.env." + KeyVariable + "}`",
		"go": `"Bearer "+os.Getenv("` + KeyVariable + `")`,
	}
)

// WithKey puts the key into a program that has it as {key}, as a literal {key"}, or as a literal header {bearer"}: the secret, or, where
// that is empty, code that reads it from its variable.
func WithKey(language, source, secret string) string {
	if secret != "" {
		return strings.NewReplacer("{key}", secret, `{key"}`, Quote(secret), `{bearer"}`, Quote("Bearer "+secret)).Replace(source)
	}
	expression := keyExpressions[language]
	filled := strings.NewReplacer("{key}", expression, `{key"}`, expression, `{bearer"}`, keyHeaders[language]).Replace(source)
	if filled == source {
		return source
	}
	switch language {
	case "python":
		return withPythonImport(filled)
	case "go":
		return withGoImport(filled)
	}
	return filled
}

// withPythonImport adds the module os, before the modules that are installed.
func withPythonImport(source string) string {
	switch {
	case strings.HasPrefix(source, "import os\n"):
		return source
	case strings.HasPrefix(source, "import ") && !strings.HasPrefix(source, "import requests"):
		head, rest, _ := strings.Cut(source, "\n\n")
		lines := append(strings.Split(head, "\n"), "import os")
		slices.SortStableFunc(lines, strings.Compare)
		return strings.Join(slices.Compact(lines), "\n") + "\n\n" + rest
	}
	return "import os\n\n" + source
}

// withGoImport adds the package os to the imports of the standard library.
func withGoImport(source string) string {
	const begin = "import (\n"
	head, rest, found := strings.Cut(source, begin)
	if !found {
		return source
	}
	library, rest, _ := strings.Cut(rest, "\n)")
	own, others, hasOthers := strings.Cut(library, "\n\n")
	lines := append(strings.Split(own, "\n"), "\t\"os\"")
	slices.SortStableFunc(lines, strings.Compare)
	library = strings.Join(slices.Compact(lines), "\n")
	if hasOthers {
		library += "\n\n" + others
	}
	return head + begin + library + "\n)" + rest
}
