package api_test

// elsewhereErrors are the codes that no request can be answered with in the table: what only a crash, a race, the console, a
// command or the end of a video brings about. Each names the test that does.
var elsewhereErrors = []elsewhereRow{}
