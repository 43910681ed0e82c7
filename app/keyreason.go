package app

// These are the reasons why a request has no valid key. All have the code invalid_api_key; the console shows a cause and a fix for each.
const (
	ReasonKeyMissing  = "key_missing"  // The request has no key.
	ReasonKeyHeader   = "key_header"   // The headers contradict each other or have another form.
	ReasonKeyForeign  = "key_foreign"  // The key has the form of another service.
	ReasonKeyCut      = "key_cut"      // The key has too few characters.
	ReasonKeyLong     = "key_long"     // The key has too many characters.
	ReasonKeyMistyped = "key_mistyped" // The checksum of the key is wrong.
	ReasonKeyUnknown  = "key_unknown"  // The key is well formed, but was deleted or belongs to another gateway.
)
