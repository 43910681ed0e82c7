// Package simulator is a believable upstream: it answers text calls in four styles and makes videos in three over HTTP, derives every
// answer from the prompt, and fails on demand. It has its own readers and writers of these wire formats and imports nothing of this module
// but testvideo, so that a mistake of the gateway cannot hide by being made on both sides.
//
// # Routes
//
// Each may stand below one more path segment, which names a provider and is recorded.
//
//	POST /v1/chat/completions
//	POST /v1/messages                                 and /v1/messages/count_tokens
//	POST /v1/responses                                and /v1/responses/input_tokens
//	POST /v1beta/models/{model}:generateContent       and :streamGenerateContent, :countTokens; /v1 too
//	GET  /files/dot.png                               an image; large.png, wide.png, page.png and inside.png have faults
//	GET  /healthz
//
//	POST, GET /v1/videos                              and GET, DELETE …/{id}, POST …/{id}/remix, GET …/{id}/content
//	POST /v1beta/models/{model}:predictLongRunning    and GET …/models/{model}/operations/{id}, POST …:cancel
//	GET  /v1beta/files/{id}:download?alt=media        a file of an operation: 302 to /v1beta/download/{id}
//	POST /v1/videos/text2video                        and /image2video, /video-extend; GET …/{task id or the caller's id}
//	GET  /v1/media/{id}.mp4                           a file of a task, without a key
//
//	POST, GET /v1/assets                              and GET, DELETE …/{id}: pictures, films and sounds that tasks name
//	GET, HEAD /media/samples/{name}                   sources of assets, below no provider; see there
//
// # Prompts
//
//	echo: TEXT            answers exactly TEXT
//	count to N            answers "1 2 3 … N", one token each
//	say N words           answers N words, one token each
//	refuse: …             a refusal, with the finish reason of filtered content
//	block: …              the prompt itself is refused
//	call: NAME ARGUMENTS  on a line of its own, with tools: exactly this call, and one more for each such line
//	simulate: SPEC        on the first line: a fault for this prompt, see below; the rest is the prompt
//
// With tools, a prompt that says "call" or "tool", or the name of one, or a tool choice that demands it, is answered with a tool call;
// "both" or "parallel" makes it two, "narrate" puts a sentence before them. Arguments are made from the JSON schema of the tool:
// "city=Rome" in the prompt gives that member, else words with a capital fill in. A turn with tool results is answered with a text that
// quotes them. A JSON format is answered with the smallest value of its schema. Attachments are acknowledged: "I see 1 image (image/png,
// 120 bytes)." Everything else gets a short reply that mentions the prompt. Elements at its beginning whose names are of several words,
// such as <environment_context>, are what coding tools add: they are counted and not answered. A model whose name contains "reason", and
// any that is asked to, reasons first, and proves it by a signature where the style has a place for one; a signature that comes back must
// be one that the same provider made. Limits of output and stop sequences are respected. A conversation that ends with a text of the
// assistant has begun the answer, which is gone on with; the messages style takes none that ends with white space.
//
// # Tokens
//
// A token is the white space before a word and up to twelve runes of the word. A message costs four tokens and those of
// its text, an attachment 258, a tool its name, description and compact schema. A tool call costs one token for the
// name and those of its arguments; one that would pass the output limit is left out whole. A system text that begins
// with "cached:" counts as read from the prompt cache, with "caching:" as written to it. Each token that the caller
// sees is one frame of a stream (only a native function call comes whole), so what was delivered can be counted.
//
// # Videos
//
// A render takes Options.Render by the clock; its progress grows with time, and it has ended at every look after that
// (with zero: at the first look). The film depends on the prompt, the image and the measures only; a remix has the
// colours of its source and shows a generation more. A provider sees its own renders only. The latest 20,000 are
// remembered. Requests are judged strictly: unknown fields, values that are not offered, an image of other measures
// than the video (videos style) and a caller's id that was used before (tasks style) are refused.
//
//	videos      Bearer; sizes 720x1280, 1280x720, 1024x1792, 1792x1024, 1080x1920, 1920x1080; seconds 4, 8, 12, 16, 20 in a
//	            string; of a model with a slash in its name also 960x960 and 5, 10; JSON, or multipart with the file
//	            input_reference; deleting cancels
//	operations  x-goog-api-key; aspect ratio 16:9 or 9:16 of 720p, 1080p or 1024p (1792 by 1024); 4 to 20 seconds, a number
//	tasks       Bearer; mode std (720p, square 960) or pro (1080p, square 1440); ratio 16:9, 9:16 or 1:1; 3 to 15 seconds
//	            in a string; an image of 300 pixels a side or more; each change is posted to callback_url, once, within 3 s
//
// Words in the prompt of a video, KIND being minors, copyright, likeness or faces:
//
//	guardrail: KIND       refused when it is asked for
//	guardrail-late: KIND  fails for that when the render has ended
//	simulate: SPEC        on the first line, as above
//
// # Assets
//
// A provider keeps sources by their address, in resource groups: {group_id, type, url, name, reference} in, and the asset
// with its id out. The same reference in the same group is the same asset. It is processing for Options.Render by the
// clock (with zero: in the answer that registers it only), then active or failed. The list takes group_id, reference,
// page and page_size. A group keeps 20,000. The address is judged by its form; nothing is fetched. A task names up to 8
// active assets of its provider in assets: [{id, type}], which a render remembers.
//
// A name of an asset like "simulate: SPEC and more" is a fault for that asset, up to the space; in the fault table calls
// about assets have the model "assets". Without on, a fault applies to the call that registers; late-create keeps, or
// removes, although the call fails. These faults for renders also apply to an asset: render, fail, never, vanish,
// unknown-status; and members adds unknown members, some of them with the names that other styles use.
//
// # Samples
//
//	picture.png, .jpg, .gif, .webp       film.mp4, .mov       sound.wav, .mp3
//	no-head.png                refuses HEAD         no-range.png      answers a range with the whole
//	no-length.png              no length is said    unnamed           the PNG, under no type at all
//	text.png, film.png         other bytes than the name and type say       wrong-type.png    right bytes, wrong type
//	wide.png                   says 100,000 pixels a side
//	huge.png, .wav, .mp4       say 40 MiB, 150 MiB, 600 MiB and send what a range asks for
//	endless.png                goes on for 64 MiB without a length          short.png         ends before its length
//	empty.png, moved.png, inside.png, gone.png, closed.png, broken.png, packed.png, slow.png
//	                           nothing; redirects to a sample and to cloud metadata; 404; 403; 500; gzip; a byte each 100 ms
//
// An input image that has the bytes "face" anywhere is refused as one with a face, late with "guardrail-late: faces".
//
// # Faults
//
// A fault is a list of directives separated by semicolons. It comes in the request header X-Simulate; in the model
// name, as "small+status=503+times=2" or "fault/status=503;times=2"; in the prompt; or from the fault table of the
// control routes. The first of these that is present counts. K counts frames, or tokens when written like 3t.
//
//	times=N, skip=N            strike N times, after sparing the first; then answer normally
//	every=N                    strike the first of every N requests only
//	key=WORD                   count together whatever has this key, apart from the same spec elsewhere
//	status=N                   an error; with code=WORD and retry-after=SECONDS, or retry-date=SECONDS for a date so far ahead
//	context-length             400 in the style's words for a prompt that is too long
//	content-filter             400 in the style's words for a prompt that a content filter stopped
//	prefill=FORM               refuse or restart: what becomes of an answer that the conversation has begun
//	thinking=TYPE              enabled or adaptive: the only thinking.type that a model takes in the messages style
//	no-effort                  a model that takes no output_config.effort
//	auth                       401
//	error-in-200               the error of status, or 500, under status 200
//	redirect=URL               302, to the address of cloud metadata when there is no URL
//	html, empty                200 with a web page, or with nothing
//	gzip=BYTES                 a small compressed body that unpacks to BYTES
//	headers=N, header-bytes=N  many headers, or a long one
//	bad-header                 a head that is no HTTP
//	content-type=TYPE          the right answer under a wrong name
//	reset                      a reset instead of an answer
//	stall                      no answer until the client leaves
//	hold                       no answer until released by the control routes
//	slow-first=D, pace=D       wait before the first byte, between tokens
//	slow-drip=D                one byte each D, a second when there is no D
//	reset-after=K              a reset in the middle
//	cut-after=K                an end of the connection in the middle
//	end-after=K                an orderly end of the body in the middle, without end marker
//	stall-after=K              silence in the middle
//	chatter-after=K            comments, pings and empty deltas from there on, and nothing more of the answer
//	finish=WORD                the answer says that it ended for this reason
//	error-after=K              an error event in the middle, with the words of status
//	malformed-at=K             frame K is not JSON
//	no-end                     everything but the end marker
//	ok-then-extra              bytes after the end
//	keep-open                  the body does not end until the client leaves
//	close-idle                 the connection is closed right after an answer that promised to keep it
//	truncated-json             half the JSON, well framed
//	json-instead-of-stream, stream-instead-of-json
//	huge-line=BYTES            one line, or body, of that size
//	frames=FORM,…              crlf, cr, bom, comments, multiline, unknown, split: other forms of the same stream
//	ignore-max-tokens          no output limit
//	endless                    no output limit, and no end
//	usage=FORM                 none, negative, huge, string, float, twice, every, first, or a number of output tokens
//	cached=N, cache-write=N    input tokens to count as cached
//
// Calls of video services know those that concern whole answers, and these. A spec strikes the calls that make a
// render; on says which others. Specs in a prompt or a model name go with the render and are counted for each render
// apart; a spec in the header means the call it came with.
//
//	on=CALL,…                  create, status, content, cancel, list, remix: which calls it strikes; and of assets
//	                           asset-create, asset-get, asset-list, asset-delete
//	late-create                the render is made, but the call that makes it stalls, or goes wrong as other directives say
//	content=FORM               short, empty, slow, html, wrong-type: the file, on=content being meant
//	render=D, render=hold      how long it takes; not before the control routes finish it
//	fail=CODE                  it fails in the end; moderation_blocked is a guardrail
//	never                      it never ends
//	vanish                     it is made, and then unknown
//	backwards                  three looks say 80 %, queued again and less, whatever the clock says
//	progress=N                 it says N while it runs, at least once
//	unknown-status             it says an unknown word while it runs, at least once (operations: in the metadata)
//	flip                       completed at the first look that sees an end, failed from the next one on
//	no-stills                  no thumbnail and no spritesheet
//	short-film=N               N seconds, whatever was asked
//	created                    the videos style says created in place of created_at
//	callback=FORM              none, twice, lie
//	files=BASE                 file addresses begin with BASE
//	file-expiry=D              a file address is valid for D after it was answered
//	members                    an asset has unknown members
//
// In an answer that is not streamed, K = 0 breaks before the body and any other K in its middle.
//
// # Control
//
// With Options.Control, below /_control: GET and DELETE requests (finished=N&timeout=5s waits for N finished ones, provider and text=PART
// OF A BODY narrow the list); GET, PUT {provider?, model?, spec} and DELETE faults; POST hold (provider, model) and release (count=N lets N
// go and keeps holding); GET waiting (at_least=N&timeout=5s waits); GET stats; GET renders (provider, text=PART OF A PROMPT); POST finish
// ends the renders on their way that id names: by id, by the caller's own id or by a part of the prompt, without it all; assets too, by id,
// reference or a part of the name or the address. GET assets (provider, group_id, text) lists what is kept; DELETE assets mislays what id
// names; PUT assets (group_max=N) says how many a group keeps.
package simulator
