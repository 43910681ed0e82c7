//go:build chaos || soak

package faults

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"umg/e2e/harness"
)

// These are the outcomes of a call, as its client saw it.
const (
	// sawNothing means no answer, not even a request id.
	sawNothing = iota
	// sawWhole means an answer with its end and its cost.
	sawWhole
	// sawPart means the beginning of a stream.
	sawPart
	// sawRefusal means an error and nothing else.
	sawRefusal
	// sawUnfunded means a refusal for lack of credit.
	sawUnfunded
)

// sight is what a client saw of one call.
type sight struct {
	id   string
	cost int64
	// delivered is the number of tokens of a stream that arrived.
	delivered int32
	saw       uint8
	streamed  bool
	// left is true when the client closed the connection itself.
	left bool
}

// witness is one client. It calls a replica that serves and records the answers it got.
type witness struct {
	chaos  *chaos
	random *rand.Rand
	sights []sight
}

func (w *witness) call(ctx context.Context) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	for ctx.Err() == nil {
		base := w.chaos.replicas[w.random.IntN(chaosReplicas)].alive.Load()
		if base == nil {
			time.Sleep(time.Millisecond)
			continue
		}
		s := w.one(client, *base, w.account().APIKey)
		if s.saw == sawNothing {
			time.Sleep(time.Millisecond)
			continue
		}
		if s.saw == sawWhole {
			w.chaos.answers.Add(1)
		}
		w.sights = append(w.sights, s)
	}
}

// account picks who calls. The poor call less: most of their calls are refused, and refusals are not what is counted.
func (w *witness) account() harness.Customer {
	if w.random.IntN(chaosPoorShare) == 0 {
		return w.chaos.customers[w.random.IntN(chaosPoor)]
	}
	return w.chaos.customers[chaosPoor+w.random.IntN(chaosAccounts-chaosPoor)]
}

// one makes one call: mostly in one piece, some as streams, and some streams that the client leaves. It lasts to its end
// also when the run is over.
func (w *witness) one(client *http.Client, base, key string) (s sight) {
	ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
	defer cancel()
	body := `{"model":"test/quick","max_tokens":64,"messages":[{"role":"user","content":"count to 8"}]}`
	switch n := w.random.IntN(300); {
	case n < 3:
		s.streamed, s.left = true, n == 0
		body = `{"model":"test/paced","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"count to 120"}]}`
	case n < 45:
		s.streamed = true
		body = `{"model":"test/quick","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"count to 20"}]}`
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return s
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Error-Status", "standard")
	resp, err := client.Do(req)
	if err != nil {
		return s
	}
	defer func() { _ = resp.Body.Close() }()
	s.id = resp.Header.Get("X-Request-Id")
	switch {
	case resp.StatusCode == http.StatusPaymentRequired:
		s.saw = sawUnfunded
		_, _ = io.Copy(io.Discard, resp.Body)
	case resp.StatusCode != http.StatusOK:
		s.saw = sawRefusal
		_, _ = io.Copy(io.Discard, resp.Body)
	case s.streamed:
		w.stream(resp.Body, &s)
	default:
		text, err := io.ReadAll(resp.Body)
		s.saw = sawPart
		if err == nil && bytes.HasSuffix(bytes.TrimSpace(text), []byte("}")) {
			s.saw, s.cost = sawWhole, shownCost(text)
		}
	}
	return s
}

var costMember = []byte(`"cost":`)

// shownCost reads the last cost in a text, and is -1 without one. The run makes too many answers to decode each whole.
func shownCost(text []byte) int64 {
	at := bytes.LastIndex(text, costMember)
	if at < 0 {
		return -1
	}
	number := text[at+len(costMember):]
	if end := bytes.IndexAny(number, ",}"); end >= 0 {
		number = number[:end]
	}
	whole, fraction, _ := strings.Cut(strings.TrimSpace(string(number)), ".")
	var nanos int64
	for _, digit := range whole + (fraction + "000000000")[:9] {
		if digit < '0' || digit > '9' {
			return -1
		}
		nanos = nanos*10 + int64(digit-'0')
	}
	return nanos
}

// stream reads a stream and counts what it delivers: the simulator sends a token an event.
func (w *witness) stream(body io.Reader, s *sight) {
	s.saw, s.cost = sawPart, -1
	leaveAt := int32(w.random.IntN(100))
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		line := lines.Bytes()
		switch {
		case bytes.Contains(line, []byte(`"error":{`)):
			return
		case bytes.Equal(line, []byte("data: [DONE]")):
			if s.cost >= 0 {
				s.saw = sawWhole
			}
			return
		case bytes.Contains(line, costMember):
			s.cost = shownCost(line)
		case bytes.Contains(line, []byte(`"content":"`)) && !bytes.Contains(line, []byte(`"content":""`)):
			if s.delivered++; s.left && s.delivered > leaveAt {
				return
			}
		}
	}
}

// verdict is what comparing the clients with the tables found.
type verdict struct {
	answers, streams, unfunded        int
	lost, duplicate, wrong, overspent int64
	unseen, behindMost                int64
	findings                          []string
}

// compare holds every answer against the usage records, which it reads in the order of their ids.
func (c *chaos) compare(t *testing.T) (v verdict) {
	t.Helper()
	var all []sight
	for _, w := range c.seen {
		all = append(all, w.sights...)
		w.sights = nil
	}
	slices.SortFunc(all, func(a, b sight) int { return cmp.Compare(a.id, b.id) })
	rows, err := c.home.DB(t).Query(`select request_id, cost_nanos, coalesce(meters[4], 0) from usage_records
		where model in ('test/quick', 'test/paced') order by request_id collate "C"`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	next, last := 0, ""
	for rows.Next() {
		var (
			id           string
			cost, output int64
		)
		if err := rows.Scan(&id, &cost, &output); err != nil {
			t.Fatal(err)
		}
		if id == last {
			v.duplicate++
		}
		last = id
		for next < len(all) && all[next].id < id {
			v.judge(all[next], -1, 0)
			next++
		}
		if next < len(all) && all[next].id == id {
			v.judge(all[next], cost, output)
			next++
		} else if cost > 0 {
			v.unseen++
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	for ; next < len(all); next++ {
		v.judge(all[next], -1, 0)
	}
	if !c.silent {
		for _, finding := range v.findings {
			t.Error(finding)
		}
	}
	c.spent(t, &v)
	return v
}

// judge compares what a client saw of a call with its usage record. A cost of -1 means that there is none.
func (v *verdict) judge(s sight, cost, output int64) {
	switch s.saw {
	case sawWhole:
		v.answers++
		if s.streamed {
			v.streams++
		}
		if cost < 0 {
			v.lost++
			v.find("has no record", s, cost, output)
		} else if cost != s.cost {
			v.wrong++
			v.find("was charged otherwise", s, cost, output)
		}
	case sawPart:
		if s.streamed {
			v.behindMost = max(v.behindMost, int64(s.delivered)-output)
		} else if cost > 0 {
			v.unseen++
		}
	case sawUnfunded, sawRefusal:
		if s.saw == sawUnfunded {
			v.unfunded++
		}
		if cost > 0 && s.saw == sawUnfunded {
			v.wrong++
			v.find("was refused and charged", s, cost, output)
		} else if cost > 0 {
			// The gateway recorded the answer, and the kill came before it could send the answer.
			v.unseen++
		}
	}
}

// findingsMost is the number of findings that the test prints.
const findingsMost = 20

func (v *verdict) find(what string, s sight, cost, output int64) {
	if len(v.findings) < findingsMost {
		v.findings = append(v.findings, fmt.Sprintf("%s %s: seen %+v, recorded at %d for %d tokens", s.id, what, s, cost, output))
	}
}

// spent insists that no account was charged more than all of its credit.
func (c *chaos) spent(t *testing.T, v *verdict) {
	t.Helper()
	if err := c.home.DB(t).Get(&v.overspent, `
		select count(*) from (
			select u.account_id from usage_records u group by u.account_id
			having sum(u.cost_nanos) > (select coalesce(sum(g.amount_nanos), 0) from grants g where g.account_id = u.account_id)
		) s`); err != nil {
		t.Fatal(err)
	}
}
