package catalog

import (
	"context"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"umg/app"
	"umg/app/postgres"
)

const (
	// seenEvery is the time between two reports of a replica. It is that of other work of a replica at rest, so that they wake it together.
	seenEvery = 10 * time.Second
	// seenMax is how long after its last report a replica counts as running. A reload between two reports may take 10 s.
	seenMax = 21 * time.Second
	// awaitEvery is the time between two queries of the reports.
	awaitEvery = 20 * time.Millisecond
	// reportMax bounds one report.
	reportMax = 2 * time.Second
	// behindMax bounds how many replicas an error names.
	behindMax = 100
	// forgottenAge is the age at which reports are removed.
	forgottenAge = time.Hour
)

// AwaitReplicas waits until all running replicas serve the catalog that is stored now. When ctx ends first, it returns the names of the
// replicas that do not, or an error when the database did not say it in time.
func AwaitReplicas(ctx context.Context, db *sqlx.DB) (behind []string, err error) {
	newest, err := version(ctx, db)
	if err != nil {
		return nil, err
	}
	for behind == nil || ctx.Err() == nil {
		found, err := replicasBehind(ctx, db, newest)
		switch {
		case err == nil && len(found) == 0:
			return nil, nil
		case err == nil:
			behind = found
		case behind == nil || ctx.Err() == nil:
			return nil, err
		}
		_ = app.Sleep(ctx, awaitEvery)
	}
	return behind, nil
}

func replicasBehind(ctx context.Context, q postgres.Queryer, newest int64) (names []string, err error) {
	err = q.SelectContext(ctx, &names, `
		select replica from catalog_replicas where version < $1 and seen_at > now() - $2 * interval '1 second' order by replica limit $3`,
		newest, seenMax.Seconds(), behindMax)
	if err != nil {
		return nil, fmt.Errorf("catalog: read what replicas serve: %w", err)
	}
	return names, nil
}

// reportVersion stores which version this replica serves.
func (c *Catalog) reportVersion(ctx context.Context) error {
	if c.o.Replica == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, reportMax)
	defer cancel()
	var reported int64
	err := c.repeated.GetContext(ctx, &reported, `
		with old as (delete from catalog_replicas where seen_at < now() - $3 * interval '1 second' and replica <> $1)
		insert into catalog_replicas (replica, version, seen_at) values ($1, $2, now())
		on conflict (replica) do update set version = excluded.version, seen_at = excluded.seen_at returning version`,
		c.o.Replica, c.Snapshot().Version(), forgottenAge.Seconds())
	if err != nil {
		return fmt.Errorf("catalog: report the version: %w", err)
	}
	return nil
}

// deleteReport removes the report of this replica, so that AwaitReplicas does not wait for it.
func (c *Catalog) deleteReport(ctx context.Context) {
	if c.o.Replica == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportMax)
	defer cancel()
	if _, err := c.db.ExecContext(ctx, `delete from catalog_replicas where replica = $1`, c.o.Replica); err != nil {
		c.o.Log.Warn("catalog: removing replica report failed", "error", err)
	}
}
