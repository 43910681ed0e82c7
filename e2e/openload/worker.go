package main

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// outstandingMax is the number of calls that may run at once. A call that is due beyond it counts as failed.
	outstandingMax = 16 << 10
	callTimeMax    = 30 * time.Second
	idleConnsMax   = 4096
)

type load struct {
	url       string
	keys      []string
	body      string
	perSecond int
	lasting   time.Duration
}

// report is the result of the load. Times are in milliseconds, from when a call was due.
type report struct {
	Offered    int     `json:"offered"`
	Good       int     `json:"good"`
	Refused    int     `json:"refused"`
	Failed     int     `json:"failed"`
	GoodRate   float64 `json:"good_rate"`
	GoodP50    float64 `json:"good_p50"`
	GoodP99    float64 `json:"good_p99"`
	RefusedP50 float64 `json:"refused_p50"`
	RefusedP99 float64 `json:"refused_p99"`
	// SentP99 is the delay with which this program itself sent the calls that were due.
	SentP99 float64 `json:"sent_p99"`
}

// run offers the load and waits for the last answer.
func (l *load) run() report {
	client := &http.Client{Timeout: callTimeMax, Transport: &http.Transport{MaxIdleConnsPerHost: idleConnsMax}}
	var (
		mu            sync.Mutex
		good, refused []float64
		late          []float64
		r             report
		all           sync.WaitGroup
	)
	places := make(chan struct{}, outstandingMax)
	began := time.Now()
	for ; ; r.Offered++ {
		due := began.Add(time.Duration(r.Offered) * time.Second / time.Duration(l.perSecond))
		if due.Sub(began) >= l.lasting {
			break
		}
		time.Sleep(time.Until(due))
		select {
		case places <- struct{}{}:
		default:
			mu.Lock()
			r.Failed++
			mu.Unlock()
			continue
		}
		key := l.keys[r.Offered%len(l.keys)]
		// goroutine: the load owns it and waits for it; it ends with its call, which has a time limit.
		all.Go(func() {
			sent := float64(time.Since(due).Microseconds()) / 1000
			status := l.call(client, key)
			took := float64(time.Since(due).Microseconds()) / 1000
			<-places
			mu.Lock()
			defer mu.Unlock()
			late = append(late, sent)
			switch status {
			case http.StatusOK:
				good = append(good, took)
			case http.StatusTooManyRequests, http.StatusServiceUnavailable:
				refused = append(refused, took)
			default:
				r.Failed++
			}
		})
	}
	all.Wait()
	r.Good, r.Refused, r.GoodRate = len(good), len(refused), float64(len(good))/l.lasting.Seconds()
	r.GoodP50, r.GoodP99 = at(good, 50), at(good, 99)
	r.RefusedP50, r.RefusedP99 = at(refused, 50), at(refused, 99)
	r.SentP99 = at(late, 99)
	return r
}

// call returns the status of one answer, read whole; zero when there was none.
func (l *load) call(client *http.Client, key string) int {
	req, err := http.NewRequest(http.MethodPost, l.url, strings.NewReader(l.body))
	if err != nil {
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("X-Error-Status", "standard")
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0
	}
	return resp.StatusCode
}

// at is a percentile.
func at(times []float64, percent int) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[len(times)*percent/100]
}
