package check

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"umg/app"
	"umg/app/llm"
	"umg/app/provider"
)

// style makes the steps of a style. It returns whether the provider has accepted the credential by now.
func (r *run) style(ctx context.Context, t *target, isProven bool) bool {
	if r.problem != "" || ctx.Err() != nil {
		return isProven
	}
	if t.isUnlisted {
		r.skip(t, "The provider lists no model that is known to be called in this style. Enter one to test it.", styleSteps...)
		return isProven
	}
	call := r.step(StepCall, t.style)
	if t.route == nil {
		r.begin(call)
		call.Detail = t.detail
		if t.problem == "" {
			t.problem = problemCatalog
		}
		r.fail(call, adviceOf(t.problem))
		r.skip(t, "This was not tried because no call could be made.", StepStream, StepTools, StepUsage)
		return isProven
	}
	var usages []llm.Response
	whole, f := r.test(ctx, t, call, question{})
	if f != nil {
		if f.Class == provider.ClassCredential && AdviceOn(f, "").Problem != problemNoRight {
			r.refused(f)
		}
		if isFinal(f) {
			r.problem, r.unreachable = AdviceOn(f, "").Problem, true
		}
		r.skip(t, "This was not tried because the call has failed.", StepStream, StepTools, StepUsage)
		return isProven
	}
	if whole != nil {
		isProven = r.prove(true)
		usages = append(usages, *whole)
	}
	if streamed, _ := r.test(ctx, t, r.step(StepStream, t.style), question{stream: true}); streamed != nil {
		usages = append(usages, *streamed)
	}
	if tools := r.step(StepTools, t.style); t.takesTools() {
		_, _ = r.test(ctx, t, tools, question{tool: true})
	} else {
		r.skip(t, "The model does not take tools.", StepTools)
	}
	r.usage(t, usages)
	return isProven
}

// isFinal reports whether further calls of the provider would fail in the same way.
func isFinal(f *provider.Fault) bool {
	switch f.Class {
	case provider.ClassConnect, provider.ClassDNS, provider.ClassTLS, provider.ClassClient, provider.ClassEnded:
		return true
	}
	return false
}

// takesTools reports whether the model takes tools. A model without a list of parameters is tested.
func (t *target) takesTools() bool {
	return len(t.file.Parameters) == 0 || slices.Contains(t.file.Parameters, "tools")
}

// skip ends steps of a style that are not made.
func (r *run) skip(t *target, why string, names ...string) {
	for _, name := range names {
		s := r.step(name, t.style)
		s.Detail = why
		r.end(s, Skipped)
	}
}

// test makes a test call, and ends its step. It returns the answer, if there was one, and the fault for which the step has failed.
func (r *run) test(ctx context.Context, t *target, s *Step, q question) (*llm.Response, *provider.Fault) {
	if isOver := ctx.Err() != nil || r.problem != ""; isOver {
		return nil, nil
	}
	r.begin(s)
	got, f := r.call(ctx, t, s, q)
	switch {
	case f != nil:
		r.failWith(s, f)
		return nil, f
	case got.response == nil:
		r.fail(s, adviceOf(problemNoStream))
		return nil, nil
	}
	if problem := judge(got.response, q); problem != "" {
		r.fail(s, adviceOf(problem))
		return got.response, nil
	}
	s.Detail = describe(got, q)
	r.end(s, Passed)
	return got.response, nil
}

// call makes a test call for a step, and books it. There is neither an answer nor a fault when the answer to a stream was none.
func (r *run) call(ctx context.Context, t *target, s *Step, q question) (reply, *provider.Fault) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.o.StepTimeMax, provider.ErrTotal)
	defer cancel()
	got, err := r.ask(ctx, t, q)
	if got.response != nil {
		r.price(t, s, got.response)
	}
	f, isFault := errors.AsType[*provider.Fault](err)
	if !isFault || got.answered && f.Status == 0 || f.Sent { // The provider has worked, and may charge for it.
		r.book(ctx, t, s)
	}
	return got, f
}

// price sets the tokens of a test call and its cost.
func (r *run) price(t *target, s *Step, a *llm.Response) {
	if !a.Reported {
		return
	}
	s.Tokens = Tokens{Input: a.Usage.InputTotal(), Output: a.Usage.Output}
	if t.route.CostCard == nil {
		s.Cost = a.Usage.ProviderCost
		return
	}
	if cost, err := t.route.CostCard.Cost(a.Usage.Counts(), a.Usage.Terms); err == nil {
		s.Cost = &cost
	}
}

// judge returns what is wrong with an answer, or an empty text.
func judge(a *llm.Response, q question) string {
	if q.tool {
		i := slices.IndexFunc(a.Parts, func(p llm.Part) bool { return p.Kind == llm.Call && p.Call.Name == toolName })
		switch {
		case i < 0:
			return problemNoCall
		case !json.Valid([]byte(a.Parts[i].Call.Arguments)):
			return problemBadArguments
		}
		return ""
	}
	isText := func(p llm.Part) bool { return p.Kind == llm.Text && strings.TrimSpace(p.Text) != "" }
	if !slices.ContainsFunc(a.Parts, isText) && a.Stop != llm.StopLength {
		return problemNoText
	}
	return ""
}

// describe says what an answer was like.
func describe(got reply, q question) string {
	switch {
	case q.tool:
		return "The model called the tool."
	case q.stream && got.first > 0:
		return "The first content came after " + got.first.Round(time.Millisecond).String() + "."
	case got.response.Stop == llm.StopLength:
		return "The answer reached its bound of " + strconv.Itoa(textTokensMax) + " tokens."
	}
	return "The model answered."
}

// usage judges the usage of the answers of a style.
func (r *run) usage(t *target, answers []llm.Response) {
	s := r.step(StepUsage, t.style)
	if len(answers) == 0 {
		r.skip(t, "No answer had a usage to read.", StepUsage)
		return
	}
	r.begin(s)
	var used Tokens
	for i := range answers {
		a := &answers[i]
		switch {
		case !a.Reported, a.Usage.Doubts != 0, a.Usage.InputTotal() == 0, a.Usage.Output == 0:
			r.fail(s, adviceOf(problemNoUsage))
			return
		case a.Usage.Unread:
			r.fail(s, adviceOf(problemUnreadUsage))
			return
		}
		used.Input += a.Usage.InputTotal()
		used.Output += a.Usage.Output
	}
	s.Detail = countOf(int(used.Input), "token", "tokens") + " in and " + strconv.FormatInt(used.Output, 10) + " out. " + costOf(t, answers)
	r.end(s, Passed)
}

// costOf says what answers cost, and what the provider said.
func costOf(t *target, answers []llm.Response) string {
	var ours, theirs app.Amount
	isKnown, isStated := t.route.CostCard != nil, true
	for i := range answers {
		u := &answers[i].Usage
		if isKnown {
			cost, err := t.route.CostCard.Cost(u.Counts(), u.Terms)
			isKnown = err == nil
			ours += cost
		}
		if isStated = isStated && u.ProviderCost != nil; isStated {
			theirs += *u.ProviderCost
		}
	}
	switch {
	case isKnown && isStated && ours != theirs:
		return "They cost $" + ours.String() + " by the cost of the route, and the provider said $" + theirs.String() + "."
	case isKnown:
		return "They cost $" + ours.String() + "."
	case isStated:
		return "The provider said that they cost $" + theirs.String() + "."
	}
	return "What they cost is not known, because the route has no cost."
}

// countOf is a number with the word for what is counted.
func countOf(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
