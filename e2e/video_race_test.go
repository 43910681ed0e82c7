package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const racers = 50

// TestFaultVideoPollersDeletesAndRemixesRace lets 50 clients look at, delete, download and remix jobs while these
// complete and fail: each job ends once, with one charge and at most one event, and no answer is a server's error.
func TestFaultVideoPollersDeletesAndRemixesRace(t *testing.T) {
	t.Parallel()
	c := filmmaker(t, videoDemo(t), "races")
	before := c.money(t)
	hear := newReceiver(t)
	c.listens(t, hear)
	var ids []string
	for i := range 12 {
		body := videoBody(reelModel, fmt.Sprintf("raced %d.", i))
		if i%3 == 1 {
			body = videoBody(fastModel, fmt.Sprintf("simulate: fail=server_error\nraced %d.", i))
		}
		ids = append(ids, textAt(c.makeVideo(t, body), "id"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeMax)
	defer cancel()
	var all sync.WaitGroup
	var deleted sync.Map
	for i := range racers {
		all.Go(func() {
			for round := range 12 {
				path := videosPath + "/" + ids[(i+round)%len(ids)]
				method, body := http.MethodGet, ""
				switch {
				case i%10 == 0 && round%4 == 3 && (i+round)%2 == 1:
					method = http.MethodDelete
				case i%10 == 1 && round%3 == 2:
					method, path, body = http.MethodPost, path+"/remix", `{"prompt":"raced again."}`
				case i%5 == 2:
					path += "/content"
				}
				a, err := c.tryCall(ctx, method, path, body)
				if err != nil || a.status >= 500 {
					t.Errorf("%s %s: %d %s %v", method, path, a.status, a.body, err)
					return
				}
				if method == http.MethodDelete && a.status == http.StatusOK {
					if _, twice := deleted.LoadOrStore(path, true); twice {
						t.Errorf("%s was deleted twice", path)
					}
				}
			}
		})
	}
	all.Wait()
	c.settle(t)
	for _, s := range c.audit(t, before) {
		if _, gone := deleted.Load(videosPath + "/" + s.ID); gone != s.Deleted {
			t.Errorf("deleted: %v, and the client was told %v", s.Deleted, gone)
		}
	}
	sameOnEachTry(t, hear.hits())
}

// TestFaultRemixRacesDeleteOfItsSource remixes videos at the moment they are deleted: the remix is taken and ends by
// itself, or its source is not found.
func TestFaultRemixRacesDeleteOfItsSource(t *testing.T) {
	t.Parallel()
	c := filmmaker(t, videoDemo(t), "remixes")
	before := c.money(t)
	var sources []string
	for i := range 12 {
		sources = append(sources, textAt(c.makeVideo(t, videoBody([]string{reelModel, swiftModel}[i%2], fmt.Sprint("source ", i))), "id"))
	}
	for _, id := range sources {
		c.ended(t, id)
	}
	var all sync.WaitGroup
	var taken, missed atomic.Int64
	for _, id := range sources {
		all.Go(func() {
			a, err := c.tryCall(t.Context(), http.MethodPost, videosPath+"/"+id+"/remix", `{"prompt":"once more"}`)
			switch {
			case err == nil && a.status == http.StatusOK:
				taken.Add(1)
			case err == nil && a.status == http.StatusNotFound && strings.Contains(a.body, "video_not_found"):
				missed.Add(1)
			default:
				t.Errorf("remix: %d %s %v", a.status, a.body, err)
			}
		})
		all.Go(func() {
			if a, err := c.tryCall(t.Context(), http.MethodDelete, videosPath+"/"+id, ""); err != nil || a.status != http.StatusOK {
				t.Errorf("delete: %d %s %v", a.status, a.body, err)
			}
		})
	}
	all.Wait()
	c.settle(t)
	if stories := c.audit(t, before); int64(len(stories)) != 12+taken.Load() {
		t.Errorf("%d jobs, with %d remixes taken and %d refused", len(stories), taken.Load(), missed.Load())
	}
	late := c.call(t, http.MethodPost, videosPath+"/"+sources[0]+"/remix", `{"prompt":"too late"}`)
	if late.status != http.StatusNotFound {
		t.Errorf("a remix of a deleted video: %d %s", late.status, late.body)
	}
	t.Logf("%d remixes were taken, %d came too late", taken.Load(), missed.Load())
}

// TestFaultDeleteTwice deletes one video from many sides at once: one of them has done it.
func TestFaultDeleteTwice(t *testing.T) {
	t.Parallel()
	c := filmmaker(t, videoDemo(t), "twice")
	id := textAt(c.film(t, videoBody(reelModel, "to be deleted")), "id")
	var all sync.WaitGroup
	var won atomic.Int64
	for range 20 {
		all.Go(func() {
			a, err := c.tryCall(t.Context(), http.MethodDelete, videosPath+"/"+id, "")
			switch {
			case err == nil && a.status == http.StatusOK:
				won.Add(1)
			case err != nil || a.status != http.StatusNotFound:
				t.Errorf("%d %s %v", a.status, a.body, err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of 20 have deleted it", won.Load())
	}
	c.settle(t)
	c.blobs(t, nil)
}

// TestFaultDeleteDuringADownload deletes videos whose content is on its way to slow readers: what was begun is finished,
// or ends as a cut connection, and never as something that looks whole but is not.
func TestFaultDeleteDuringADownload(t *testing.T) {
	t.Parallel()
	c := filmmaker(t, videoDemo(t), "downloads")
	for range 3 {
		id := textAt(c.film(t, videoBody(proModel, "read slowly", `"size":"1920x1080"`, `"seconds":"20"`)), "id")
		whole := c.call(t, http.MethodGet, videosPath+"/"+id+"/content", "").body
		var readers []*http.Response
		for range 4 {
			req, err := c.request(t.Context(), http.MethodGet, videosPath+"/"+id+"/content", "")
			if err != nil {
				t.Fatal(err)
			}
			resp, err := (&http.Client{Transport: &http.Transport{ReadBufferSize: 1 << 10}}).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.ReadFull(resp.Body, make([]byte, 512)); err != nil {
				t.Fatal(err)
			}
			readers = append(readers, resp)
		}
		if a := c.call(t, http.MethodDelete, videosPath+"/"+id, ""); a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if a := c.call(t, http.MethodGet, videosPath+"/"+id+"/content", ""); a.status != http.StatusNotFound {
			t.Errorf("after the delete: %d", a.status)
		}
		for _, resp := range readers {
			rest, err := io.ReadAll(resp.Body)
			if resp.ContentLength != int64(len(whole)) || err == nil && string(rest) != whole[512:] {
				t.Errorf("of %d bytes %d came after the first 512, %v", resp.ContentLength, len(rest), err)
			}
		}
	}
}

// page is a list of videos.
type page struct {
	Data    []struct{ ID string }
	HasMore bool   `json:"has_more"`
	LastID  string `json:"last_id"`
}

// walk goes through a list by its cursor and returns how often each id came.
func (c customer) walk(ctx context.Context, order string, limit int) (map[string]int, error) {
	seen, after := map[string]int{}, ""
	for range 20_000 {
		path := fmt.Sprintf("%s?limit=%d&order=%s", videosPath, limit, order)
		if after != "" {
			path += "&after=" + after
		}
		a, err := c.tryCall(ctx, http.MethodGet, path, "")
		if err != nil {
			return nil, err
		}
		var p page
		if err := json.Unmarshal([]byte(a.body), &p); err != nil || a.status != http.StatusOK {
			return nil, fmt.Errorf("%d %s %w", a.status, a.body, err)
		}
		for _, one := range p.Data {
			seen[one.ID]++
			after = one.ID
		}
		if !p.HasMore || len(p.Data) == 0 {
			return seen, nil
		}
	}
	return nil, fmt.Errorf("the list does not end")
}

// TestFaultListIsWalkedWhileItChanges walks the list in both directions while jobs come and go: what is there all the
// time is seen once in each walk.
func TestFaultListIsWalkedWhileItChanges(t *testing.T) {
	t.Parallel()
	c := filmmaker(t, videoDemo(t), "walks")
	made := func(text string) string {
		return textAt(c.makeVideo(t, videoBody(fastModel, "simulate: fail=server_error;render=0s\n"+text)), "id")
	}
	var stable, leaving []string
	for range 40 {
		stable, leaving = append(stable, made("stays")), append(leaving, made("goes"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), filmMax)
	defer cancel()
	var changing sync.WaitGroup
	changing.Go(func() {
		for _, id := range leaving {
			if a, err := c.tryCall(ctx, http.MethodDelete, videosPath+"/"+id, ""); err != nil || a.status != http.StatusOK {
				t.Errorf("%d %v", a.status, err)
			}
			if _, err := c.tryCall(ctx, http.MethodPost, videosPath, videoBody(fastModel, "simulate: fail=server_error;render=0s\ncomes")); err != nil {
				t.Error(err)
			}
		}
	})
	done := make(chan struct{})
	go func() { changing.Wait(); close(done) }()
	walks := 0
	for changes := true; changes; walks++ {
		select {
		case <-done:
			changes = false
		default:
		}
		for order, limit := range map[string]int{"desc": 7, "asc": 5} {
			seen, err := c.walk(ctx, order, limit)
			if err != nil {
				t.Fatal(err)
			}
			for id, n := range seen {
				if n != 1 {
					t.Errorf("%s: %s came %d times", order, id, n)
				}
			}
			for _, id := range stable {
				if seen[id] != 1 {
					t.Errorf("%s: %s, which was there all the time, came %d times", order, id, seen[id])
				}
			}
		}
	}
	t.Logf("%d walks each way", walks)
}

// TestFaultTwoReplicasShareVideoJobs lets two replicas work on the jobs of one customer, and kills one in the middle. All
// jobs end once, for every account.
func TestFaultTwoReplicasShareVideoJobs(t *testing.T) {
	t.Parallel()
	m := newMortal(t, "replicas")
	key := strings.TrimSpace(m.file(t, "data/secret.key"))
	p := serve(t, m.home, "--storage", m.dir+"/data/blobs", "--secret-key", key, "--egress-allow", listening.address(),
		"--egress-allow", strings.TrimPrefix(m.SimulatorURL, "http://"))
	other := customer{gateway: p.gateway, accountID: m.accountID}
	other.APIKey = m.APIKey
	before := m.money(t)
	hear := newReceiver(t)
	m.listens(t, hear)
	const jobs = sharedJobs
	var all sync.WaitGroup
	var dead atomic.Bool
	kill := make(chan struct{})
	for worker := range 4 {
		all.Go(func() {
			for i := worker; i < jobs; i += 4 {
				body := videoBody([]string{reelModel, fastModel}[i%2], fmt.Sprintf("shared %03d.", i))
				if i == jobs/2 {
					close(kill)
				}
				if i%3 == 0 && !dead.Load() {
					if a, err := other.tryCall(t.Context(), http.MethodPost, videosPath, body); err == nil && a.status == http.StatusOK {
						continue
					}
					body = videoBody(reelModel, fmt.Sprintf("shared %03d, again.", i))
				}
				if a, err := m.tryCall(t.Context(), http.MethodPost, videosPath, body); err != nil || a.status != http.StatusOK {
					t.Errorf("%d %s %v", a.status, a.body, err)
				}
			}
		})
	}
	<-kill
	// The kill comes while both replicas work.
	time.Sleep(100 * time.Millisecond)
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.exited
	dead.Store(true)
	m.killed = time.Now()
	all.Wait()
	m.lapse(t)
	m.settle(t)
	stories := m.audit(t, before)
	completed := 0
	for _, s := range stories {
		made := len(m.renders(t, s.Prompt))
		if made > 1 || s.State == "completed" && made != 1 {
			t.Errorf("the upstream was asked for %d renders of %+v", made, s)
		}
		if s.State == "completed" {
			completed++
		}
	}
	if completed < jobs || len(stories) > jobs+8 {
		t.Errorf("%d of %d jobs completed", completed, len(stories))
	}
	sameOnEachTry(t, hear.hits())
	t.Logf("%d jobs, %d events", len(stories), len(hear.hits()))
}
