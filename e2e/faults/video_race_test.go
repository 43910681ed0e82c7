package faults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"umg/e2e/harness"
)

const racers = 50

// TestFaultVideoPollersDeletesAndRemixesRace lets 50 clients look at, delete, download and remix jobs while these
// complete and fail: each job ends once, with one charge and at most one event, and no answer is a server's error.
func TestFaultVideoPollersDeletesAndRemixesRace(t *testing.T) {
	t.Parallel()
	c := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "races")
	before := c.Balance(t)
	hear := harness.NewWebhookReceiver(t)
	c.AddWebhook(t, hear)
	var ids []string
	for i := range 12 {
		body := harness.VideoBody(harness.VideosModel, fmt.Sprintf("raced %d.", i))
		if i%3 == 1 {
			body = harness.VideoBody(harness.OperationsModel, fmt.Sprintf("simulate: fail=server_error\nraced %d.", i))
		}
		ids = append(ids, harness.TextMember(c.CreateVideo(t, body), "id"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
	defer cancel()
	var all sync.WaitGroup
	var deleted sync.Map
	for i := range racers {
		all.Go(func() {
			for round := range 12 {
				path := harness.VideosPath + "/" + ids[(i+round)%len(ids)]
				method, body := http.MethodGet, ""
				switch {
				case i%10 == 0 && round%4 == 3 && (i+round)%2 == 1:
					method = http.MethodDelete
				case i%10 == 1 && round%3 == 2:
					method, path, body = http.MethodPost, path+"/remix", `{"prompt":"raced again."}`
				case i%5 == 2:
					path += "/content"
				}
				a, err := c.TryCall(ctx, method, path, body)
				if err != nil || a.Status >= 500 {
					t.Errorf("%s %s: %d %s %v", method, path, a.Status, a.Body, err)
					return
				}
				if method == http.MethodDelete && a.Status == http.StatusOK {
					if _, twice := deleted.LoadOrStore(path, true); twice {
						t.Errorf("%s was deleted twice", path)
					}
				}
			}
		})
	}
	all.Wait()
	c.FinishJobs(t)
	for _, s := range c.CheckJobs(t, before) {
		if _, gone := deleted.Load(harness.VideosPath + "/" + s.ID); gone != s.Deleted {
			t.Errorf("deleted: %v, and the client was told %v", s.Deleted, gone)
		}
	}
	harness.CheckRetriesEqual(t, hear.Received())
}

// TestFaultRemixRacesDeleteOfItsSource remixes videos at the moment they are deleted: the remix is taken and ends by
// itself, or its source is not found.
func TestFaultRemixRacesDeleteOfItsSource(t *testing.T) {
	t.Parallel()
	c := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "remixes")
	before := c.Balance(t)
	var sources []string
	for i := range 12 {
		sources = append(sources, harness.TextMember(c.CreateVideo(t, harness.VideoBody([]string{harness.VideosModel, harness.TasksModel}[i%2], fmt.Sprint("source ", i))), "id"))
	}
	for _, id := range sources {
		c.WaitVideo(t, id)
	}
	var all sync.WaitGroup
	var taken, missed atomic.Int64
	for _, id := range sources {
		all.Go(func() {
			a, err := c.TryCall(t.Context(), http.MethodPost, harness.VideosPath+"/"+id+"/remix", `{"prompt":"once more"}`)
			switch {
			case err == nil && a.Status == http.StatusOK:
				taken.Add(1)
			case err == nil && a.Status == http.StatusNotFound && strings.Contains(a.Body, "video_not_found"):
				missed.Add(1)
			default:
				t.Errorf("remix: %d %s %v", a.Status, a.Body, err)
			}
		})
		all.Go(func() {
			if a, err := c.TryCall(t.Context(), http.MethodDelete, harness.VideosPath+"/"+id, ""); err != nil || a.Status != http.StatusOK {
				t.Errorf("delete: %d %s %v", a.Status, a.Body, err)
			}
		})
	}
	all.Wait()
	c.FinishJobs(t)
	if stories := c.CheckJobs(t, before); int64(len(stories)) != 12+taken.Load() {
		t.Errorf("%d jobs, with %d remixes taken and %d refused", len(stories), taken.Load(), missed.Load())
	}
	late := c.Call(t, http.MethodPost, harness.VideosPath+"/"+sources[0]+"/remix", `{"prompt":"too late"}`)
	if late.Status != http.StatusNotFound {
		t.Errorf("a remix of a deleted video: %d %s", late.Status, late.Body)
	}
	t.Logf("%d remixes were taken, %d came too late", taken.Load(), missed.Load())
}

// TestFaultDeleteTwice deletes one video from many sides at once: one of them has done it.
func TestFaultDeleteTwice(t *testing.T) {
	t.Parallel()
	c := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "twice")
	id := harness.TextMember(c.CompleteVideo(t, harness.VideoBody(harness.VideosModel, "to be deleted")), "id")
	var all sync.WaitGroup
	var won atomic.Int64
	for range 20 {
		all.Go(func() {
			a, err := c.TryCall(t.Context(), http.MethodDelete, harness.VideosPath+"/"+id, "")
			switch {
			case err == nil && a.Status == http.StatusOK:
				won.Add(1)
			case err != nil || a.Status != http.StatusNotFound:
				t.Errorf("%d %s %v", a.Status, a.Body, err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of 20 have deleted it", won.Load())
	}
	c.FinishJobs(t)
	c.CheckFiles(t, nil)
}

// TestFaultDeleteDuringADownload deletes videos whose content is on its way to slow readers: what was begun is finished,
// or ends as a cut connection, and never as something that looks whole but is not.
func TestFaultDeleteDuringADownload(t *testing.T) {
	t.Parallel()
	c := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "downloads")
	for range 3 {
		id := harness.TextMember(c.CompleteVideo(t, harness.VideoBody(harness.OperationsProModel, "read slowly", `"size":"1920x1080"`, `"seconds":"20"`)), "id")
		whole := c.Call(t, http.MethodGet, harness.VideosPath+"/"+id+"/content", "").Body
		var readers []*http.Response
		for range 4 {
			req, err := c.NewRequest(t.Context(), http.MethodGet, harness.VideosPath+"/"+id+"/content", "")
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
		if a := c.Call(t, http.MethodDelete, harness.VideosPath+"/"+id, ""); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if a := c.Call(t, http.MethodGet, harness.VideosPath+"/"+id+"/content", ""); a.Status != http.StatusNotFound {
			t.Errorf("after the delete: %d", a.Status)
		}
		for _, resp := range readers {
			rest, err := io.ReadAll(resp.Body)
			if resp.ContentLength != int64(len(whole)) || err == nil && string(rest) != whole[512:] {
				t.Errorf("of %d bytes %d came after the first 512, %v", resp.ContentLength, len(rest), err)
			}
		}
	}
}

// TestFaultListIsWalkedWhileItChanges walks the list in both directions while jobs come and go: what is there all the
// time is seen once in each walk.
func TestFaultListIsWalkedWhileItChanges(t *testing.T) {
	t.Parallel()
	c := harness.NewVideoCustomer(t, harness.SharedVideoDemo(t), "walks")
	made := func(text string) string {
		return harness.TextMember(c.CreateVideo(t, harness.VideoBody(harness.OperationsModel, "simulate: fail=server_error;render=0s\n"+text)), "id")
	}
	var stable, leaving []string
	for range 40 {
		stable, leaving = append(stable, made("stays")), append(leaving, made("goes"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), harness.JobTimeMax)
	defer cancel()
	var changing sync.WaitGroup
	changing.Go(func() {
		for _, id := range leaving {
			if a, err := c.TryCall(ctx, http.MethodDelete, harness.VideosPath+"/"+id, ""); err != nil || a.Status != http.StatusOK {
				t.Errorf("%d %v", a.Status, err)
			}
			if _, err := c.TryCall(ctx, http.MethodPost, harness.VideosPath, harness.VideoBody(harness.OperationsModel, "simulate: fail=server_error;render=0s\ncomes")); err != nil {
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
			seen, err := c.ListAll(ctx, order, limit)
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
	m := harness.NewRestartingDemo(t, "replicas")
	key := strings.TrimSpace(m.ReadFile(t, "data/secret.key"))
	p := harness.StartReplica(t, m.Demo, "--storage", m.Dir+"/data/blobs", "--secret-key", key, "--egress-allow", harness.Webhooks.Address(),
		"--egress-allow", strings.TrimPrefix(m.SimulatorURL, "http://"))
	other := harness.Customer{Gateway: p.Gateway, AccountID: m.AccountID}
	other.APIKey = m.APIKey
	before := m.Balance(t)
	hear := harness.NewWebhookReceiver(t)
	m.AddWebhook(t, hear)
	const jobs = harness.SharedJobs
	var all sync.WaitGroup
	var dead atomic.Bool
	kill := make(chan struct{})
	for worker := range 4 {
		all.Go(func() {
			for i := worker; i < jobs; i += 4 {
				body := harness.VideoBody([]string{harness.VideosModel, harness.OperationsModel}[i%2], fmt.Sprintf("shared %03d.", i))
				if i == jobs/2 {
					close(kill)
				}
				if i%3 == 0 && !dead.Load() {
					if a, err := other.TryCall(t.Context(), http.MethodPost, harness.VideosPath, body); err == nil && a.Status == http.StatusOK {
						continue
					}
					body = harness.VideoBody(harness.VideosModel, fmt.Sprintf("shared %03d, again.", i))
				}
				if a, err := m.TryCall(t.Context(), http.MethodPost, harness.VideosPath, body); err != nil || a.Status != http.StatusOK {
					t.Errorf("%d %s %v", a.Status, a.Body, err)
				}
			}
		})
	}
	<-kill
	// The kill comes while both replicas work.
	time.Sleep(100 * time.Millisecond)
	if err := p.Command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.Exited
	dead.Store(true)
	m.KilledAt = time.Now()
	all.Wait()
	m.ExpireClaims(t)
	m.FinishJobs(t)
	stories := m.CheckJobs(t, before)
	completed := 0
	for _, s := range stories {
		made := len(upstreamRenders(t, m.Gateway, s.Prompt))
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
	harness.CheckRetriesEqual(t, hear.Received())
	t.Logf("%d jobs, %d events", len(stories), len(hear.Received()))
}
