package local

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// lookMax bounds the look for a running server, each address it may have taken by itself.
const lookMax = 2 * time.Second

// RunningDSN returns the address of the server that serves the cluster in the data folder now, and an empty string when
// none does. It looks at the socket in the folder and at the further addresses that the caller knows, and trusts
// none: a copy of a folder may name the server of the original, so the server has to say that this cluster is its own.
func RunningDSN(ctx context.Context, dir string, further ...string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("postgres: data folder: %w", err)
	}
	h := home{dir: dir, cluster: filepath.Join(dir, clusterName)}
	for _, dsn := range slices.Concat([]string{socketDSN(h.socketPath(), "umg")}, further) {
		if h.servedAt(ctx, dsn) {
			return dsn, nil
		}
		if err := ctx.Err(); err != nil {
			return "", errors.Join(errors.New("postgres: look for the server of the data folder"), err)
		}
	}
	return "", nil
}

// servedAt reports whether the server at an address works on the cluster.
func (h home) servedAt(ctx context.Context, dsn string) bool {
	ctx, cancel := context.WithTimeout(ctx, lookMax)
	defer cancel()
	db, err := connect(ctx, dsn, lookMax)
	if err != nil {
		return false
	}
	defer func() { _ = db.Close() }() // The connection only read, so Close loses nothing.
	var cluster string
	return db.QueryRowContext(ctx, "show data_directory").Scan(&cluster) == nil && sameFolder(cluster, h.cluster)
}
