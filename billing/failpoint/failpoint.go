// Package failpoint names the places at which a process may die with money on its way. In a build with the tag failpoints
// a process can be told to die at one of them, so that what the design promises for each is tried on the real thing. In
// every other build they are nothing. It does not know what happens at them.
package failpoint

// Control is a mistake that a build with the tag can be told to make, so that the tests which look for lost charges are seen
// to find them.
type Control string

// The controls.
const (
	AnswerFirst Control = "answer-first" // an answer ends before its settlement is durable
	CursorFirst Control = "cursor-first" // the cursor moves before the settlements behind it are applied
)

// Point is a place of the code.
type Point string

// The points, in the order in which a call, a recovery, a video and a top-up meet them. What has happened at each stands in
// on.go.
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
