package billing

import (
	"bytes"
	_ "embed" // The settlement table is embedded.
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"
)

// Reason is why a call cost what it did: the name of its row in the settlement table.
type Reason string

// These are the ways a text call can end.
const (
	ReasonCompleted            Reason = "completed"
	ReasonUsageMissing         Reason = "usage_missing"
	ReasonUsageImplausible     Reason = "usage_implausible"
	ReasonOverrun              Reason = "overrun"
	ReasonFiltered             Reason = "filtered"
	ReasonFilteredUnanswered   Reason = "filtered_unanswered"
	ReasonNoContent            Reason = "no_content"
	ReasonCreditRanOut         Reason = "credit_ran_out"
	ReasonLengthEnforced       Reason = "length_enforced"
	ReasonRecovered            Reason = "recovered"
	ReasonEmptyAnswer          Reason = "empty_answer"
	ReasonRequestRefused       Reason = "request_refused"
	ReasonUpstreamFailed       Reason = "upstream_failed"
	ReasonUpstreamBrokeOff     Reason = "upstream_broke_off"
	ReasonTimedOutUnanswered   Reason = "timed_out_unanswered"
	ReasonTimedOut             Reason = "timed_out"
	ReasonClientLeftUnanswered Reason = "client_left_unanswered"
	ReasonClientLeftWaiting    Reason = "client_left_waiting"
	ReasonClientLeft           Reason = "client_left"
	ReasonClientLeftContinued  Reason = "client_left_continued"
	ReasonClientLeftAtEnd      Reason = "client_left_at_end"
	ReasonStoppedUnanswered    Reason = "stopped_unanswered"
	ReasonStopped              Reason = "stopped"
	ReasonCrashedUnanswered    Reason = "crashed_unanswered"
	ReasonCrashed              Reason = "crashed"
	ReasonUnrecorded           Reason = "unrecorded"
	ReasonUnrecordedEnd        Reason = "unrecorded_end"
	ReasonRefused              Reason = "refused"
)

// These are the ways a video job can end.
const (
	ReasonVideoCompleted   Reason = "video_completed"
	ReasonVideoShorter     Reason = "video_shorter"
	ReasonVideoRefused     Reason = "video_refused"
	ReasonVideoFailed      Reason = "video_failed"
	ReasonVideoLost        Reason = "video_lost"
	ReasonVideoExpired     Reason = "video_expired"
	ReasonVideoUnavailable Reason = "video_unavailable"
	ReasonVideoDeleted     Reason = "video_deleted"
)

// Charge is what a row of the settlement table charges for.
type Charge string

// These are the charges.
const (
	ChargeUsage     Charge = "usage"     // The account pays for what the provider counted.
	ChargeDelivered Charge = "delivered" // The account pays for what the client was sent.
	ChargeReceived  Charge = "received"  // The account pays for what the provider was sent and had returned.
	ChargeReserve   Charge = "reserve"   // The account pays all that was reserved, because the call cost more.
	ChargeSeconds   Charge = "seconds"   // The account pays for the length of a video.
	ChargeNothing   Charge = "nothing"
)

// charges maps each charge to whether its usage is an estimate.
var charges = map[Charge]bool{
	ChargeUsage: false, ChargeDelivered: true, ChargeReceived: true, ChargeReserve: false, ChargeSeconds: false, ChargeNothing: false,
}

var outcomes = []string{"succeeded", "cut", "timed_out", "client_left", "failed", "refused"}

// Rule is one row of the settlement table: how a call with that end is charged and recorded.
type Rule struct {
	Reason    Reason `yaml:"reason"`
	Outcome   string `yaml:"outcome"`
	Charge    Charge `yaml:"charge"`
	Estimated bool   `yaml:"estimated"` // Estimated marks the recorded usage as an estimate.
	Recorded  bool   `yaml:"recorded"`  // Recorded means that there is a usage record.
	When      string `yaml:"when"`      // When describes the calls to which the row applies.
	Text      string `yaml:"text"`      // Text explains the charge to the person who pays.
}

//go:embed settlement.yaml
var settlementFile []byte

// settlement is the table, by reason and in order. An invalid file stops the process at start.
var settlement, settlementOrder = func() (map[Reason]Rule, []Rule) {
	rules, err := parseRules(settlementFile)
	if err != nil {
		panic(err)
	}
	index := make(map[Reason]Rule, len(rules))
	for _, r := range rules {
		index[r.Reason] = r
	}
	return index, rules
}()

// Rules returns all rows of the settlement table in the file's order.
func Rules() []Rule { return slices.Clone(settlementOrder) }

// RuleOf returns the row of a reason. It panics when there is none; a test checks that every reason has one.
func RuleOf(reason Reason) Rule {
	rule, known := settlement[reason]
	if !known {
		panic(fmt.Sprintf("billing: the settlement table has no row %q", reason))
	}
	return rule
}

// parseRules reads a settlement table. Each row must have every member and no unknown one.
func parseRules(file []byte) ([]Rule, error) {
	var rows []yaml.Node
	if err := yaml.Unmarshal(file, &rows); err != nil {
		return nil, fmt.Errorf("billing: the settlement table: %w", err)
	}
	seen := map[Reason]bool{}
	rules := make([]Rule, 0, len(rows))
	for i := range rows {
		rule, err := parseRule(&rows[i])
		if err == nil && seen[rule.Reason] {
			err = fmt.Errorf("%q has two rows", rule.Reason)
		}
		if err != nil {
			return nil, fmt.Errorf("billing: the settlement table, line %d: %w", rows[i].Line, err)
		}
		seen[rule.Reason] = true
		rules = append(rules, rule)
	}
	return rules, nil
}

// ruleMembers is how many members a row has.
const ruleMembers = 7

func parseRule(row *yaml.Node) (r Rule, err error) {
	text, err := yaml.Marshal(row)
	if err != nil {
		return r, err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true) // The decoder also rejects duplicate members.
	if err = d.Decode(&r); err != nil {
		return r, err
	}
	estimated, known := charges[r.Charge]
	switch {
	case len(row.Content) != 2*ruleMembers, r.Reason == "", r.When == "", r.Text == "":
		return r, fmt.Errorf("a row says reason, outcome, charge, estimated, recorded, when and text")
	case !known:
		return r, fmt.Errorf("%q is not a charge", r.Charge)
	case !slices.Contains(outcomes, r.Outcome):
		return r, fmt.Errorf("%q is not an outcome; outcomes are %v", r.Outcome, outcomes)
	case r.Estimated != estimated:
		return r, fmt.Errorf("a charge of %s is estimated: %t", r.Charge, estimated)
	case !r.Recorded && r.Charge != ChargeNothing:
		return r, fmt.Errorf("what is charged must be recorded")
	}
	return r, nil
}

// callerEnded lists the ends that the caller caused: what the caller could not pay for, a refused request, an answer that a content
// filter ended or refused.
var callerEnded = []Reason{
	ReasonCreditRanOut, ReasonRequestRefused, ReasonVideoRefused, ReasonVideoDeleted, ReasonFiltered, ReasonFilteredUnanswered,
}

// ModelVerdict says what a reason shows about the model: it answered, it failed because of the gateway or a provider, or
// neither, because the client caused the end or left before it.
func ModelVerdict(reason Reason) (answered, failed bool) {
	rule, known := settlement[reason]
	if !known || slices.Contains(callerEnded, reason) {
		return false, false
	}
	switch rule.Outcome {
	case "succeeded":
		return true, false
	case "failed", "cut", "timed_out":
		return false, true
	}
	return false, false
}
