package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// videoListPage is a list of videos.
type videoListPage struct {
	Data    []struct{ ID string }
	HasMore bool   `json:"has_more"`
	LastID  string `json:"last_id"`
}

// ListAll goes through a list by its cursor and returns how often each id came.
func (c Customer) ListAll(ctx context.Context, order string, limit int) (map[string]int, error) {
	seen, after := map[string]int{}, ""
	for range 20_000 {
		path := fmt.Sprintf("%s?limit=%d&order=%s", VideosPath, limit, order)
		if after != "" {
			path += "&after=" + after
		}
		a, err := c.TryCall(ctx, http.MethodGet, path, "")
		if err != nil {
			return nil, err
		}
		var p videoListPage
		if err := json.Unmarshal([]byte(a.Body), &p); err != nil || a.Status != http.StatusOK {
			return nil, fmt.Errorf("%d %s %w", a.Status, a.Body, err)
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
