// Package payments is a stand-in for the payment service: customers, hosted checkouts, saved cards, refunds, disputes and signed webhooks,
// with their state in memory and failures on demand. No money moves. It implements version 2023-10-16 of the service's API and imports
// nothing of this module, so that a mistake of the gateway cannot hide by being made on both sides.
//
// # API
//
// Bodies are forms, keys are sent as Bearer or as the user of basic authentication. Parameters that are unknown, missing
// or of another form are refused as the service does; so are those that the service has and this does not simulate.
// An Idempotency-Key is remembered for a day. Objects are the latest 20,000, events and all.
//
//	/v1/customers                  create, update, delete, get, list; /v1/customers/{id}/payment_methods
//	/v1/payment_methods            get, list, attach, detach; pm_card_visa and its kind make a new one
//	/v1/checkout/sessions          create (mode payment, hosted, price_data), get, list, expire, line_items
//	/v1/payment_intents            create, update, confirm, cancel, get, list
//	/v1/charges, /v1/refunds       get, list; refunds are created too
//	/v1/disputes                   get, list, close
//	/v1/billing_portal/sessions    create
//	/v1/events                     get, list
//
// # Pages
//
//	/pay/{session}                 the checkout: a good card, a declined one, paying late, going back
//	/portal/{portal session}       the saved cards, and removing them
//	/receipts/{charge}             a receipt
//
// # Webhooks
//
// Events are posted as they happen, eight at once and in no order, signed with the secret and the time of Options.Now.
// What is not answered with 2xx is tried again after Options.RetryWaits.
//
// # Control
//
// With Options.Control, below /_control. PUT bodies are JSON, everything else is in the query. {payment} is the id of a
// checkout, a payment intent or a charge; amounts are cents and all there is without one.
//
//	GET  webhooks, PUT webhooks {url, delay_ms, shuffle_ms, duplicates, drop, hold}   only what is named changes
//	POST webhooks/release?order=oldest|newest|together     send what was held; the first two one by one, before answering
//	GET  deliveries?type=&object=&status=&at_least=N&timeout=5s                       attempts, oldest first; waits for N
//	PUT  faults {mode, times, status, method, path}, DELETE faults                    the next calls of the API that fit
//	     mode error: the status, nothing done; stall: no answer, nothing done; lost: done, but the answer is lost
//	POST sessions/{id}/pay?with=card|declined|async        as a person would on the page
//	POST sessions/{id}/expire
//	POST payments/{payment}/resolve?outcome=succeeded|failed                          of a payment that is processing
//	POST payments/{payment}/refund?amount=                 as an operator does in the service's own dashboard
//	POST payments/{payment}/dispute?amount=&reason=
//	POST disputes/{id}/close?outcome=won|lost
//	PUT  cards/{card or customer}?outcome=ok|processing|card_declined|insufficient_funds|expired_card|lost_card|
//	     processing_error|authentication_required          what becomes of the next attempts
//	POST events/{id}/send                                  send it once more
//	POST forge {type, object, changes, event, signature, age_ms}                      post a forged event now
//	     signature: good, none, wrong, empty, old, altered; the answer has the receiver's status
package payments
