-- +goose Up

-- What its user may do has changed: the next request in it gets another token, and the one of before opens nothing any more.
alter table sessions add column renew boolean not null default false;
