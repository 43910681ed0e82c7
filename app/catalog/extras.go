package catalog

// Extra is a request of a client for something that a provider does beside answering and for which no price is set. The gateway
// never sends it to a provider.
type Extra struct {
	// Field is its path in a request, with the values that ask for it.
	Field string
	// What says what it is.
	What string
	// Fate says whether the gateway leaves it out or refuses the request.
	Fate string

	// At is its path in the form that package dialect uses.
	At string
	// Refused means that every request with it is refused.
	Refused bool
	// Limited means that only some types or values at the path ask for it.
	Limited bool
	// Free are the values that do not ask for it.
	Free []string
	// Advice says what to do instead, as a sentence.
	Advice string
}
