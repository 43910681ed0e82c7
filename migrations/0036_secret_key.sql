-- +goose Up

-- What tells whether a replica has the key that the secrets in this database are sealed with. It is derived from the key, and
-- the key cannot be derived from it.
create table secret_key (
    only_row    boolean     primary key default true check (only_row),
    check_value bytea       not null check (octet_length(check_value) = 32),
    taken_at    timestamptz not null default now()
);
