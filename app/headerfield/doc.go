// Package headerfield has the rules of RFC 9110, section 5, for the names and values of HTTP headers. Check texts with IsName and IsValue
// before they are written or believed, and give received names their usual case with Canonicalize.
package headerfield
