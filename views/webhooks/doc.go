// Package webhooks draws the pages of webhook endpoints, of their deliveries and of the events that they receive. List, Detail and
// DeliveryDetail are the view models of its pages.
package webhooks
