package simulator

import "time"

// chatterPeriod is the time between two signs of life of a stream that says nothing, unless the fault names a pace.
const chatterPeriod = 20 * time.Millisecond

// chatterFrames are the signs of life of each style: comments, pings, and frames without content.
var chatterFrames = map[string][]string{
	"chat": {
		": keep-alive\n\n",
		`data: {"id":"chatcmpl-idle","object":"chat.completion.chunk","created":1,"model":"idle",` +
			`"choices":[{"index":0,"delta":{},"finish_reason":null}]}` + "\n\n",
		`data: {"id":"chatcmpl-idle","object":"chat.completion.chunk","created":1,"model":"idle",` +
			`"choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}` + "\n\n",
	},
	"messages": {
		"event: ping\ndata: {\"type\":\"ping\"}\n\n",
		": keep-alive\n\n",
		"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}` + "\n\n",
	},
	"responses": {
		": keep-alive\n\n", // the frames of this style are numbered, these are not
	},
	"native": {
		": keep-alive\n\n",
		`data: {"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"index":0}]}` + "\n\n",
	},
}

// chatter shows that the stream lives and says nothing, until the client leaves.
func (o *stream) chatter() {
	frames, period := chatterFrames[o.x.style.name], chatterPeriod
	if pace := o.x.fault.pace; pace > 0 {
		period = pace
	}
	for n := 0; n < int(o.x.sim.options.StallMax/period); n++ {
		if !o.x.pause(period) || !o.x.write([]byte(frames[n%len(frames)])) {
			return
		}
		o.x.flush()
	}
	o.x.drop(false)
}
