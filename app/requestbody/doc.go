// Package requestbody holds bodies of requests in memory that is used again. Begin a Body with a Pool, read it with Fill, and release
// it when nothing refers to its bytes any more.
package requestbody
