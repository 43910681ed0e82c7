-- +goose Up

-- What tells whether a replica has the key that the secrets in this database are sealed with. It is derived from the key, and
-- the key cannot be derived from it.
create table secret_key (
    only_row    boolean     primary key default true check (only_row),
    check_value bytea       not null check (octet_length(check_value) = 32),
    taken_at    timestamptz not null default now()
);

-- Which version of the catalog each running replica serves. A replica renews its row every few seconds and removes it at its
-- end, so an old row is that of a replica that was killed.
create table catalog_replicas (
    replica text        primary key,
    version bigint      not null,
    seen_at timestamptz not null default now()
);
