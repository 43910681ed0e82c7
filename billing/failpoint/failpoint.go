// Package failpoint names the places at which a test may kill the process while credit is being moved. A build with the tag failpoints
// kills the process at a place that the environment names; every other build ignores the places. Call At at each place.
package failpoint

// Control is a deliberate mistake that a build with the tag can make. It shows that the tests which look for lost charges find them.
type Control string

// These are the controls.
const (
	AnswerFirst Control = "answer-first" // An answer ends before its settlement is durable.
	CursorFirst Control = "cursor-first" // The cursor moves before the settlements behind it are applied.
)

// Point is a place in the code at which the process may die.
type Point string

// These are the points, in the order in which a call, a recovery, a video and a top-up reach them. The file on.go says what
// has happened at each.
const (
	C0  Point = "C0"
	C1  Point = "C1"
	C2  Point = "C2"
	C3  Point = "C3"
	C4  Point = "C4"
	C5  Point = "C5"
	C6  Point = "C6"
	C7  Point = "C7"
	C8  Point = "C8"
	C9  Point = "C9"
	C10 Point = "C10"
	C11 Point = "C11"
	C12 Point = "C12"
	C13 Point = "C13"
	C14 Point = "C14"
	C15 Point = "C15"
	C16 Point = "C16"
	C17 Point = "C17"
	C18 Point = "C18"
	C19 Point = "C19"
	C20 Point = "C20"
	C21 Point = "C21"
)
