// Package contentlog keeps what is asked and answered in calls, where the account that pays for them wants that: it takes down bodies while
// calls run, takes secrets out, writes them behind the calls' backs, and deletes them when their days are over. It knows the styles' wires
// only as far as a streamed answer must be put together. It does not know who calls, what a call costs or how content is shown.
//
// Content is not money. A call never waits for its content to be kept: where memory or the queue is full, or the store is away, the
// content of a call is lost, counted, and nothing else. Secrets are taken out as far as they can be told by their form.
package contentlog
