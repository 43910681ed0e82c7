package catalog

// Extra is a request of a client for something that a provider does beside answering and for which no price is set. The gateway
// never sends it to a provider.
type Extra struct {
	// Field is the path of the member in a request, with the values that ask for the extra.
	Field string
	// What names the extra in documents and errors.
	What string
	// Fate is what the gateway does with the member: it leaves the member out, or refuses the request.
	Fate string

	// At is the path of the member in the form that package dialect uses.
	At string
	// Refused means that every request with it is refused.
	Refused bool
	// Limited means that only some types or values at the path ask for it.
	Limited bool
	// Free are the values that do not ask for it.
	Free []string
	// Advice is what to do instead, as a sentence.
	Advice string
}
