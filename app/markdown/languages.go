package markdown

import "strings"

// language is what the colouring needs to know of one. It colours; it does not parse.
type language struct {
	label         string
	keywords      string // Keywords have a space before and after each.
	comments      []string
	opens, closes string // These marks begin and end a comment of several lines.
	quotes        string
	longs         []string // Longs are marks around strings of several lines.
	flags         bool     // Flags means that -words are names, as in a shell.
	dashes        bool     // Dashes means that words may have hyphens.
	keyed         bool     // Keyed means that a name before a colon is a member.
	assigns       bool     // Assigns means that a name before an equals sign is a member.
	folds         bool     // Folds means that keywords may be in capitals.
	tags          bool     // Tags means that the text is markup.
	lines         bool     // Lines means that the text is a diff.
}

const (
	cWords = " auto bool break case char class const constexpr continue default delete do double else enum extern false float for " +
		"goto if include inline int long namespace new nullptr private protected public return short signed sizeof static struct " +
		"switch template this throw true try typedef typename union unsigned using virtual void while "
	javaWords = " abstract boolean break byte case catch char class const continue data default do double else enum extends false " +
		"final finally float for foreach fun get if implements import in int interface internal is let long namespace new null " +
		"object out override package private protected public readonly record return sealed set short static string super switch " +
		"this throw throws true try using val var void volatile when while yield async await "
	jsWords = " as async await break case catch class const continue default delete do else enum export extends false finally for " +
		"from function get if implements import in instanceof interface let new null of private public readonly return set static " +
		"super switch this throw true try type typeof undefined var void while yield keyof declare namespace "
	pythonWords = " False None True and as assert async await break class continue def del elif else except finally for from global " +
		"if import in is lambda match case nonlocal not or pass raise return self try while with yield "
	goWords = " break case chan const continue default defer else err fallthrough false for func go goto if import interface iota " +
		"map nil package range return select struct switch true type var string int int64 bool byte error any "
	rustWords = " as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut " +
		"pub ref return self Self static struct super trait true type unsafe use where while Some None Ok Err "
	shellWords = " case cd curl do done echo elif else esac exit export fi for function if in local return set sudo then unset while " +
		"npm pip go docker git make "
	sqlWords = " add all alter and as asc begin between by case commit create default delete desc distinct drop else end exists " +
		"false foreign from full group having if in index inner insert into is join key left like limit not null offset on or order " +
		"outer primary references returning right rollback select set table then true union unique update using values view when " +
		"where with int integer text varchar boolean timestamp "
	rubyWords = " alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo rescue " +
		"retry return self super then true undef unless until when while yield require puts attr_accessor "
	swiftWords = " as async await break case catch class continue default defer do else enum extension false for func guard if import " +
		"in init inout is let nil private protocol public return self static struct super switch throw throws true try typealias " +
		"var where while "
	phpWords = " abstract and array as break case catch class const continue declare default do echo else elseif extends false final " +
		"finally fn for foreach function global if implements include instanceof interface match namespace new null or print " +
		"private protected public readonly require return static switch throw trait true try use var while "
	luaWords = " and break do else elseif end false for function goto if in local nil not or repeat return then true until while "
	cssWords = " important media supports import layer keyframes from to "
	dockers  = " from run cmd label expose env add copy entrypoint volume user workdir arg onbuild stopsignal healthcheck shell as "
)

var languages = map[string]language{
	"bash":       {label: "Shell", keywords: shellWords, comments: []string{"#"}, quotes: `"'`, flags: true, assigns: true},
	"c":          {label: "C", keywords: cWords, comments: []string{"//"}, opens: "/*", closes: "*/", quotes: `"'`},
	"cpp":        {label: "C++", keywords: cWords, comments: []string{"//"}, opens: "/*", closes: "*/", quotes: `"'`},
	"csharp":     {label: "C#", keywords: javaWords, comments: []string{"//"}, opens: "/*", closes: "*/", quotes: `"'`},
	"css":        {label: "CSS", keywords: cssWords, opens: "/*", closes: "*/", quotes: `"'`, dashes: true, keyed: true},
	"diff":       {label: "Diff", lines: true},
	"dockerfile": {label: "Dockerfile", keywords: dockers, comments: []string{"#"}, quotes: `"'`, flags: true, folds: true},
	"env":        {label: ".env", comments: []string{"#"}, quotes: `"'`, assigns: true},
	"go":         {label: "Go", keywords: goWords, comments: []string{"//"}, opens: "/*", closes: "*/", quotes: "\"'`"},
	"html":       {label: "HTML", opens: "<!--", closes: "-->", tags: true},
	"http":       {label: "HTTP", keywords: " GET POST PUT PATCH DELETE HEAD HTTP ", dashes: true, keyed: true},
	"java":       {label: "Java", keywords: javaWords, comments: []string{"//"}, opens: "/*", closes: "*/", quotes: `"'`},
	"javascript": {label: "JavaScript", keywords: jsWords, comments: []string{"//"}, opens: "/*", closes: "*/", quotes: "\"'`"},
	"json":       {label: "JSON", keywords: " true false null ", comments: []string{"//"}, quotes: `"`, keyed: true},
	"kotlin": {
		label: "Kotlin", keywords: javaWords, comments: []string{"//"}, opens: "/*", closes: "*/", quotes: `"'`, longs: []string{`"""`},
	},
	"lua": {label: "Lua", keywords: luaWords, comments: []string{"--"}, quotes: `"'`},
	"php": {label: "PHP", keywords: phpWords, comments: []string{"//", "#"}, opens: "/*", closes: "*/", quotes: `"'`},
	"python": {
		label: "Python", keywords: pythonWords, comments: []string{"#"}, quotes: `"'`, longs: []string{`"""`, `'''`}, assigns: true,
	},
	"ruby": {label: "Ruby", keywords: rubyWords, comments: []string{"#"}, quotes: `"'`},
	"rust": {label: "Rust", keywords: rustWords, comments: []string{"//"}, opens: "/*", closes: "*/", quotes: `"`},
	"sql":  {label: "SQL", keywords: sqlWords, comments: []string{"--"}, opens: "/*", closes: "*/", quotes: `"'`, folds: true},
	"sse":  {label: "Events", comments: []string{":"}, quotes: `"`, keyed: true},
	"swift": {
		label: "Swift", keywords: swiftWords, comments: []string{"//"}, opens: "/*", closes: "*/", quotes: `"`, longs: []string{`"""`},
	},
	"toml":       {label: "TOML", keywords: " true false ", comments: []string{"#"}, quotes: `"'`, longs: []string{`"""`}, dashes: true},
	"typescript": {label: "TypeScript", keywords: jsWords, comments: []string{"//"}, opens: "/*", closes: "*/", quotes: "\"'`"},
	"xml":        {label: "XML", opens: "<!--", closes: "-->", tags: true},
	"yaml":       {label: "YAML", keywords: " true false null yes no ", comments: []string{"#"}, quotes: `"'`, dashes: true, keyed: true},
}

// spellings are other names that languages go by.
var spellings = map[string]string{
	"c#": "csharp", "c++": "cpp", "cc": "cpp", "console": "bash", "cs": "csharp", "curl": "bash", "docker": "dockerfile",
	"dotenv": "env", "golang": "go", "h": "c", "hpp": "cpp", "ini": "toml", "js": "javascript", "json5": "json", "jsonc": "json",
	"jsonl": "json", "jsx": "javascript", "kt": "kotlin", "less": "css", "mjs": "javascript", "ndjson": "json", "node": "javascript",
	"patch": "diff", "plpgsql": "sql", "postgres": "sql", "postgresql": "sql", "properties": "env", "py": "python", "python3": "python",
	"rb": "ruby", "rs": "rust", "scss": "css", "sh": "bash", "shell": "bash", "sqlite": "sql", "svg": "xml", "ts": "typescript",
	"tsx": "typescript", "vue": "html", "yml": "yaml", "zsh": "bash",
}

func canonical(name string) string {
	name = strings.ToLower(name)
	if other, ok := spellings[name]; ok {
		return other
	}
	return name
}

// nameBytesMax is how much is shown of the name of a language that we do not know.
const nameBytesMax = 24

// shown is what a block of code is called.
func shown(name string) string {
	if lang, ok := languages[canonical(name)]; ok {
		return lang.label
	}
	name = strings.Map(func(r rune) rune {
		if r == '+' || r == '#' || r == '-' || r == '.' || r < 0x80 && isWord(byte(r)) {
			return r
		}
		return -1
	}, name)
	if name == "" || len(name) > nameBytesMax {
		return "Code"
	}
	return name
}
