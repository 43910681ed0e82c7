// Package traffic stores what operators and customers look at right after calls were made: the latest call of each account that
// left no usage record (RecentCalls), and the number and duration of calls by minute and replica (MinuteCounts).
// Each replica records calls in memory and its Run methods write them every few seconds, so that every replica can show the calls of all.
package traffic
