// Package requestbody holds bodies of requests in memory that is used again, and bounds the time in which they come. Begin a Body with a
// Pool, read it with Fill from a PacedReader, and release it when nothing refers to its bytes any more.
package requestbody
