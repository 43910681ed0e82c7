package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// errNoBinaries is for the person who starts the gateway on a machine without a database.
var errNoBinaries = errors.New("no PostgreSQL server found: install it (apt-get install postgresql), " +
	"point UMG_PG_BIN at the folder with initdb and postgres, or set DATABASE_URL")

// versionMax bounds asking a binary for its version.
const versionMax = 5 * time.Second

var majorPattern = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// usualPlaces are where packages put the servers, in the order they are tried after PATH.
var usualPlaces = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
	"/opt/homebrew/opt/postgresql/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// binaries is a folder that holds initdb and postgres of one major version.
type binaries struct {
	dir   string
	major int
}

// findBinaries returns the binaries to use: those of the major version of an existing cluster, or the first found in
// the search order when want is zero. Only one folder counts when the operator named one.
func findBinaries(ctx context.Context, named string, want int) (binaries, error) {
	candidates := []string{named}
	if named == "" {
		candidates = searchOrder()
	}
	var others []string
	for _, dir := range candidates {
		if !hasBinaries(dir) {
			continue
		}
		major, err := majorOf(ctx, dir)
		if err != nil {
			return binaries{}, err
		}
		if want == 0 || major == want {
			return binaries{dir: dir, major: major}, nil
		}
		others = append(others, fmt.Sprintf("%d in %s", major, dir))
	}
	switch {
	case len(others) > 0:
		return binaries{}, fmt.Errorf("the data folder was made by PostgreSQL %d, but only %s is installed: "+
			"install postgresql-%d, use another data folder, or set DATABASE_URL; nothing was changed", want, strings.Join(others, ", "), want)
	case named != "":
		return binaries{}, fmt.Errorf("no initdb and postgres in %s: correct UMG_PG_BIN or set DATABASE_URL", named)
	default:
		return binaries{}, errNoBinaries
	}
}

func searchOrder() []string {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	for _, pattern := range usualPlaces {
		found, _ := filepath.Glob(pattern) // The patterns are constant and valid.
		slices.SortFunc(found, func(a, b string) int { return versionIn(b) - versionIn(a) })
		dirs = append(dirs, found...)
	}
	return slices.DeleteFunc(dirs, func(dir string) bool { return !filepath.IsAbs(dir) })
}

// versionIn reads the first number of a path such as /usr/lib/postgresql/15/bin.
func versionIn(path string) int {
	digits := strings.FieldsFunc(path, func(r rune) bool { return r < '0' || r > '9' })
	if len(digits) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(digits[0]) // The text has only digits. A number beyond int sorts last.
	return n
}

func hasBinaries(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
			return false
		}
	}
	return true
}

func majorOf(ctx context.Context, dir string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, versionMax)
	defer cancel()
	//nolint:gosec // the folder is the operator's, the program's name and argument are fixed
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("postgres: ask %s for its version: %w", dir, err)
	}
	found := majorPattern.FindSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("postgres: %s is of no known version: %q", dir, out)
	}
	return strconv.Atoi(string(found[1]))
}
