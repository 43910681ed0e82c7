package apikey

import (
	"context"
	"net/netip"
	"time"

	"github.com/lib/pq"

	"umg/app/postgres"
)

// setNetworksUsed notes from which networks keys of any account were used, and forgets those beyond what a key may have. A network is news
// when the key was known from elsewhere and not from there lately. Rows are written in one order, since every replica does this.
func setNetworksUsed(ctx context.Context, q postgres.Queryer, uses []networkUse, at map[networkUse]time.Time) error {
	hashes, networks, times := make(pq.ByteaArray, len(uses)), make(pq.StringArray, len(uses)), make([]time.Time, len(uses))
	for i, use := range uses {
		hashes[i], networks[i], times[i] = uses[i].secret[:], use.network.String(), at[use].UTC()
	}
	var keys pq.StringArray
	err := q.GetContext(ctx, &keys, `
		with used as (select * from unnest($1::bytea[], $2::text[]::cidr[], $3::timestamptz[]) as u (hash, network, at)),
		found as (
			select k.id, k.account_id, u.network, u.at from used u join api_keys k on k.secret_hash = u.hash and k.deleted_at is null
			union all
			select k.id, k.account_id, u.network, u.at from used u join api_keys k on k.previous_hash = u.hash and k.deleted_at is null),
		kept as (
			insert into key_networks as n (key_id, account_id, network, since, last_at, is_new)
			select f.id, f.account_id, f.network, max(f.at), max(f.at), exists (select from key_networks o where o.key_id = f.id)
			from found f group by f.id, f.account_id, f.network order by f.id, f.network
			on conflict (key_id, network) do update set
				since = case when n.last_at < excluded.last_at - $4 * interval '1 second' then excluded.since else n.since end,
				is_new = case when n.last_at < excluded.last_at - $4 * interval '1 second' then exists (
					select from key_networks o where o.key_id = n.key_id and o.network <> n.network and o.last_at > n.last_at
				) else n.is_new end,
				last_at = greatest(n.last_at, excluded.last_at)
			returning n.key_id)
		select coalesce(array_agg(distinct key_id), '{}') from kept`, hashes, networks, pq.Array(times), int64(networkAbsent/time.Second))
	if err != nil {
		return err
	}
	return postgres.Exec(ctx, q, `
		delete from key_networks n using (
			select key_id, network, row_number() over (partition by key_id order by last_at desc, network) as place
			from key_networks where key_id = any($1)) o
		where o.place > $2 and n.key_id = o.key_id and n.network = o.network`, keys, networksMax)
}

func newNetworks(ctx context.Context, q postgres.Queryer, accountID string, since time.Time) (list []NewNetwork, err error) {
	var rows []struct {
		KeyID   string    `db:"key_id"`
		Network string    `db:"network"`
		Since   time.Time `db:"since"`
	}
	err = q.SelectContext(ctx, &rows, `
		select distinct on (key_id) key_id, network::text as network, since
		from key_networks where account_id = $1 and is_new and since > $2 order by key_id, since desc, network`, accountID, since)
	for _, r := range rows {
		network, failed := netip.ParsePrefix(r.Network)
		if failed != nil {
			return nil, failed
		}
		list = append(list, NewNetwork{KeyID: r.KeyID, Network: network, Since: r.Since})
	}
	return list, err
}
