package faults

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"umg/e2e/harness"
)

const (
	// assetLives is the number of times that the test kills the gateway.
	assetLives = 5
	// assetsEachLife is the number of creates that run at each kill.
	assetsEachLife = 8
	// killStep is the time by which each kill comes later than the one before, at most. The exact moment is random.
	killStep = 120 * time.Millisecond
)

// assetPaces are how the upstream takes its time: before it keeps an asset, after it has, or not at all.
var assetPaces = []string{"simulate: slow-first=150ms", "simulate: late-create;slow-first=150ms", "plain", "simulate: late-create;slow-first=400ms"}

// told has what the API answered to the clients about their assets.
type told struct {
	mu sync.Mutex
	// made has the ids of creates that were answered.
	made map[string]bool
	// deleted has the ids of assets whose delete was sent. The value is true where the gateway answered the delete.
	deleted map[string]bool
	// cut counts the creates without an answer.
	cut int
}

// keepCreatingAssets keeps creates and a delete running until all have ended, well or cut.
func keepCreatingAssets(t *testing.T, m *harness.RestartingDemo, known *told, life int) *sync.WaitGroup {
	t.Helper()
	var all sync.WaitGroup
	for i := range assetsEachLife {
		name := fmt.Sprintf("%s life %d, %d", assetPaces[i%len(assetPaces)], life, i)
		all.Go(func() {
			a, err := killSoon(m, harness.AssetsPath, harness.AssetBody("image", m.SampleURL("picture.png"), name))
			known.mu.Lock()
			defer known.mu.Unlock()
			if err != nil {
				known.cut++
			} else if o := harness.DecodeObject(t, a.Body); a.Status == http.StatusOK {
				known.made[harness.TextMember(o, "asset_id")] = true
			} else {
				t.Errorf("create: %d %s", a.Status, a.Body)
			}
		})
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	for id := range known.made {
		if _, asked := known.deleted[id]; !asked {
			known.deleted[id] = false
			all.Go(func() {
				a, err := killSoon(m, harness.AssetsPath+"/delete", `{"asset_id":"`+id+`"}`)
				known.mu.Lock()
				defer known.mu.Unlock()
				known.deleted[id] = err == nil && a.Status == http.StatusOK
			})
			break
		}
	}
	return &all
}

func killSoon(m *harness.RestartingDemo, path, body string) (harness.Response, error) {
	ctx, cancel := context.WithTimeout(context.Background(), harness.CallTimeMax)
	defer cancel()
	return m.TryCall(ctx, http.MethodPost, path, body)
}

// settledRows are the ids of the assets, once no create and no removal is left to be cleaned up.
func settledRows(t *testing.T, db *sqlx.DB, account string) (ids []string) {
	t.Helper()
	harness.WaitUntil(t, "nothing is left to be cleaned up", func() bool {
		db.MustExec(`update assets set due_at = now() where deleted_at is not null and claimed_until is null and account_id = $1`, account)
		var open int
		err := db.Get(&open, `select count(*) from assets where account_id = $1 and (pending_at is not null or deleted_at is not null)`, account)
		return err == nil && open == 0
	})
	if err := db.Select(&ids, `select id from assets where account_id = $1 order by id`, account); err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestFaultAssetKilledDuringCreates kills the gateway at random moments while assets are created and deleted. Afterwards
// the rows, their count and what the upstream keeps are the same, and nothing that a client was told is untrue.
func TestFaultAssetKilledDuringCreates(t *testing.T) {
	t.Parallel()
	m := harness.NewRestartingDemo(t, "asset-crash", "--asset-cleanup-delay", "2s")
	known := &told{made: map[string]bool{}, deleted: map[string]bool{}}
	orphans := 0
	for life := range assetLives {
		calls := keepCreatingAssets(t, m, known, life)
		after := time.Duration(life)*killStep + rand.N(killStep)
		// The test kills the gateway at a random moment, so this is no wait for a state.
		time.Sleep(after)
		m.Kill(t)
		calls.Wait()
		m.Restart(t)
		db := m.DB(t)
		// This ends the claims of the dead worker without waiting for them to expire.
		db.MustExec(`update assets set claimed_until = null where claimed_until > $1`, m.KilledAt.Add(harness.ClaimTime/2))
		var pending int
		if err := db.Get(&pending, `select count(*) from assets where pending_at is not null and account_id = $1`, m.AccountID); err != nil {
			t.Fatal(err)
		}
		t.Logf("killed after %s: %d creates were cut so far, %d rows are to be cleaned up", after, known.cut, pending)
		orphans += pending
	}
	if known.cut == 0 || orphans == 0 {
		t.Errorf("no kill met a create: %d were cut, %d rows were left", known.cut, orphans)
	}
	db := m.DB(t)
	rows := settledRows(t, db, m.AccountID)
	var live int
	if err := db.Get(&live, `select coalesce((select live from asset_counts where account_id = $1), 0)`, m.AccountID); err != nil {
		t.Fatal(err)
	}
	kept := harness.DecodeJSON[struct {
		Assets []struct{ Reference string }
	}](t, m.CallSimulator(t, http.MethodGet, "/_control/assets", ""))
	var upstream []string
	for _, a := range kept.Assets {
		upstream = append(upstream, a.Reference)
	}
	slices.Sort(upstream)
	if live != len(rows) || !slices.Equal(rows, upstream) || m.AssetCount(t) != int64(len(rows)) {
		t.Errorf("%d count, %d are listed; rows\n%s\nupstream\n%s", live, m.AssetCount(t), strings.Join(rows, "\n"), strings.Join(upstream, "\n"))
	}
	for _, id := range slices.Sorted(maps.Keys(known.made)) {
		deleted, asked := known.deleted[id]
		if there := slices.Contains(rows, id); there && deleted || !there && !asked {
			t.Errorf("%s was answered, asked to be deleted: %t, answered so: %t, and is there: %t", id, asked, deleted, there)
		}
	}
}
