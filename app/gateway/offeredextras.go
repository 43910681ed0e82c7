package gateway

import "slices"

// modelsNamedMax is how many models an error names that offer what the model of the call does not.
const modelsNamedMax = 5

// removeExtras removes from the request the services of a provider that the model does not offer, such as a web search, and bounds those
// that it offers.
func (b *requestBuilder) removeExtras() error {
	c := b.call
	if !c.head.Changed() {
		return nil
	}
	if err := b.reserve(1); err != nil {
		return err
	}
	c.removed = append(slices.Clone(c.removed), c.head.Extras()...)
	return b.replaceBody(c.head.WithoutExtras())
}

// refitExtras removes the extras that the model does not offer to which the call has moved.
func (b *requestBuilder) refitExtras() error {
	c := b.call
	if err := allowExtras(&c.request, &c.head, c.model); err != nil {
		return err
	}
	return b.removeExtras()
}
