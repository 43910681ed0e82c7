-- +goose Up

-- The settings that presets had when a provider was put in force. After an upgrade of the program, a page for operators shows how the
-- settings of today differ. Settings has the members of the preset as JSON. A provider that was not saved since this table exists has no row.
create table provider_presets (
	provider_id  text primary key,
	preset       text not null,
	settings     jsonb not null,
	confirmed_at timestamptz not null default now()
);
