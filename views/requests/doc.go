// Package requests draws the list of requests, the page of a request and the usage reports of an account. Query and UsageQuery read and
// write the addresses of the list and of the reports.
package requests
