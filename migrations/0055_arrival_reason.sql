-- +goose Up

-- Why a call without a valid key was refused, such as key_cut. It is empty for other calls.
alter table arrivals add column reason text not null default '';
