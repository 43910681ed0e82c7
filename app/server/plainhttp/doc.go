// Package plainhttp serves the plainest requests of HTTP/1.1 with memory that each connection uses again, and leaves all other
// connections to net/http. Make a Server with New and use it in place of the http.Server that it wraps.
//
// A plain request is a POST to one of a few paths whose whole head comes with its first bytes, and whose body has a length. A head that
// is not beyond doubt is never answered here: net/http gets the connection with every byte of the request, and keeps it.
package plainhttp
