package ratelimit

import (
	"context"
	"crypto/sha1" //nolint:gosec // Redis names scripts by it
	"encoding/hex"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
)

// errAnswer is an answer that the script does not give.
var errAnswer = errors.New("redis: the answer of the limits' script is malformed")

// scriptReply is what the script answers.
type scriptReply struct {
	met   refusal
	rooms [gatesCount]Remaining
	err   error
}

// numbersOfGate are how many the script answers about each gate, after the two about the call.
const (
	numbersOfCall = 2
	numbersOfGate = 7
)

// readAnswer understands the answer to a job of a lease.
func readAnswer(le *lease, result rueidis.RedisResult) (a scriptReply) {
	numbers, err := result.AsIntSlice()
	if err != nil {
		return scriptReply{err: err}
	}
	if len(numbers) < numbersOfCall+numbersOfGate*len(le.gates) {
		return scriptReply{err: errAnswer}
	}
	if met := int(numbers[0]); met > 0 {
		if met/10 > len(le.gates) || met%10 >= whatsCount {
			return scriptReply{err: errAnswer}
		}
		a.met = refusal{gate: le.gates[met/10-1], what: met % 10, wait: time.Duration(numbers[1]) * time.Microsecond}
	}
	for i, gate := range le.gates {
		b, n := &le.bounds[i], numbers[numbersOfCall+numbersOfGate*i:]
		a.rooms[gate] = Remaining{
			Places: placesOf(b, n[0]), Requests: windowOf(b.requests, n[1], n[2]), Daily: windowOf(b.daily, n[3], n[4]),
			Tokens: windowOf(b.tokens, n[5], n[6]),
		}
	}
	return a
}

func windowOf(limit, left, micros int64) Window {
	if limit == 0 {
		return Window{}
	}
	return Window{Limit: limit, Remaining: left, Reset: (time.Duration(micros) * time.Microsecond).Round(time.Millisecond)}
}

// placesOf is what is left of a gate's places. When the next place becomes free is unknown.
func placesOf(b *bounds, running int64) Window {
	if b.places == 0 {
		return Window{}
	}
	return Window{Limit: b.places, Remaining: max(0, b.places-running)}
}

// These are the states of a job.
const (
	jobWaits = iota
	jobSent
	jobAnswered
	jobLeft // The caller has stopped waiting.
)

// scriptCall is one step of the script for one call.
type scriptCall struct {
	mode   string
	lease  *lease
	used   int64
	state  atomic.Int32
	answer chan scriptReply // The channel has room for one answer; it is nil when no caller waits.
}

// begin reports whether the job is still wanted, just before it is sent.
func (j *scriptCall) begin() bool { return j.state.CompareAndSwap(jobWaits, jobSent) }

// end reports whether its answer is still wanted.
func (j *scriptCall) end() bool { return j.state.CompareAndSwap(jobSent, jobAnswered) }

// leave reports whether the job has no answer, and then wants none.
func (j *scriptCall) leave() bool {
	return j.state.CompareAndSwap(jobWaits, jobLeft) || j.state.CompareAndSwap(jobSent, jobLeft)
}

// step is the job in the words of the script.
func (s *shared) step(j *scriptCall) scriptArgs {
	args := make([]string, 0, 5+4*len(j.lease.bounds))
	args = append(args, j.mode, millis(s.o.Lease), j.lease.name, strconv.FormatInt(j.lease.tokens, 10), strconv.FormatInt(j.used, 10))
	for _, b := range j.lease.bounds {
		for _, n := range [...]int64{b.places, b.requests, b.daily, b.tokens} {
			args = append(args, strconv.FormatInt(n, 10))
		}
	}
	return scriptArgs{j.lease.keys, args}
}

// scriptArgs is one run of the script.
type scriptArgs struct{ keys, args []string }

// luaScript runs the script by its name, and by its text where the server does not know it yet.
type luaScript struct{ name string }

func newLua() *luaScript {
	sum := sha1.Sum([]byte(script)) //nolint:gosec // SHA-1 is what Redis identifies scripts by
	return &luaScript{hex.EncodeToString(sum[:])}
}

// run sends all steps at once. The answers are in the order of the steps.
func (l *luaScript) run(ctx context.Context, c rueidis.Client, steps []scriptArgs) []rueidis.RedisResult {
	commands := make(rueidis.Commands, len(steps))
	for i, p := range steps {
		commands[i] = c.B().Evalsha().Sha1(l.name).Numkeys(int64(len(p.keys))).Key(p.keys...).Arg(p.args...).Build()
	}
	results := c.DoMulti(ctx, commands...)
	for i, r := range results {
		if err, ok := rueidis.IsRedisErr(r.Error()); ok && err.IsNoScript() {
			p := steps[i]
			results[i] = c.Do(ctx, c.B().Eval().Script(script).Numkeys(int64(len(p.keys))).Key(p.keys...).Arg(p.args...).Build())
		}
	}
	return results
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
