// Package emulator plays real providers of models over HTTP, strictly: it verifies signatures and tokens, refuses what the provider
// refuses with its errors, and answers in its shapes and framings. It imports nothing of this module, so that a mistake of the gateway
// cannot hide by being made on both sides.
//
// Each provider is below a path segment with its name, such as /mistral/v1/chat/completions. Two token endpoints are beside them:
// /google/token, and /{tenant}/oauth2/v2.0/token of Entra. Make an Emulator with New and serve it; Add makes it fail, and Records says
// what it got and what it billed. The table of providers is providers.yaml.
package emulator
