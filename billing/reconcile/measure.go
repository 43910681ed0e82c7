package reconcile

import (
	"slices"

	"umg/app/meter"
	"umg/billing/usage"
)

// Measure is a number that exports of providers state. Measures overlap, unlike meters: each provider divides its tokens in its own way.
type Measure uint8

// The measures, in the order in which reports list them.
const (
	Calls Measure = iota
	InputTokens
	UncachedInputTokens
	CachedInputTokens
	CacheWriteTokens
	CacheWrite5mTokens
	CacheWrite1hTokens
	AudioInputTokens
	OutputTokens
	ReasoningTokens
	AudioOutputTokens
	WebSearches
	measures // measures is the number of measures and not a measure itself.
)

// counts are numbers by measure.
type counts [measures]int64

var (
	cachedMeters = []meter.Meter{meter.CacheReadTokens, meter.CacheReadAudioTokens, meter.CacheReadImageTokens}
	writeMeters  = []meter.Meter{meter.CacheWriteTokens, meter.CacheWriteHourTokens, meter.CacheWriteLongTokens}
	inputMeters  = metersOf(meter.SideInput)
)

// measureTable names each measure and lists the meters that add up to it. Calls have no meter: they are counted.
var measureTable = [measures]struct {
	name   string
	meters []meter.Meter
}{
	Calls:       {name: "calls"},
	InputTokens: {"input tokens", inputMeters},
	UncachedInputTokens: {"uncached input tokens", slices.DeleteFunc(metersOf(meter.SideInput), func(m meter.Meter) bool {
		return slices.Contains(cachedMeters, m) || slices.Contains(writeMeters, m)
	})},
	CachedInputTokens:  {"cached input tokens", cachedMeters},
	CacheWriteTokens:   {"cache write tokens", writeMeters},
	CacheWrite5mTokens: {"5-minute cache write tokens", []meter.Meter{meter.CacheWriteTokens}},
	CacheWrite1hTokens: {"1-hour cache write tokens", []meter.Meter{meter.CacheWriteHourTokens}},
	AudioInputTokens:   {"audio input tokens", []meter.Meter{meter.InputAudioTokens, meter.CacheReadAudioTokens}},
	OutputTokens:       {"output tokens", metersOf(meter.SideOutput)},
	ReasoningTokens:    {"reasoning tokens", []meter.Meter{meter.ReasoningTokens}},
	AudioOutputTokens:  {"audio output tokens", []meter.Meter{meter.OutputAudioTokens}},
	WebSearches:        {"web searches", []meter.Meter{meter.WebSearches, meter.WebSearchPreviews}},
}

// String is the name of the measure in reports.
func (q Measure) String() string { return measureTable[q].name }

// metersOf lists the meters of tokens of a side.
func metersOf(side meter.Side) (list []meter.Meter) {
	for m := range meter.Count {
		if info := m.Info(); info.Side == side && info.Unit == meter.UnitToken {
			list = append(list, m)
		}
	}
	return list
}

// countsOf computes the measures of a sum of records.
func countsOf(d *usage.ProviderDay) (c counts) {
	c[Calls] = d.Calls
	for q := range measures {
		for _, m := range measureTable[q].meters {
			c[q] += d.Meters[m]
		}
	}
	return c
}

// hasFees reports whether the calls used something that providers charge by the piece, such as searches.
func hasFees(d *usage.ProviderDay) bool {
	for m := range meter.Count {
		if m != meter.Requests && m.Info().Side == meter.SideFee && d.Meters[m] > 0 {
			return true
		}
	}
	return false
}
