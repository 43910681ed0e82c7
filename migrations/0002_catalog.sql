-- +goose Up

create table providers (
	id         text primary key,
	position   integer not null,
	-- The name of an environment variable. A value that is no reference would be a secret at rest.
	credential text not null check (credential = '' or credential ~ '^\$\{[A-Z][A-Z0-9_]*\}$'),
	entry      jsonb not null check (jsonb_typeof(entry) = 'object')
);

-- A model that leaves the catalog keeps its row, because usage and rate cards name it.
create table models (
	id           text primary key,
	position     integer not null,
	availability text not null check (availability in ('available', 'coming')),
	paused       boolean not null default false,
	retired_at   timestamptz,
	rate_version integer,
	entry        jsonb not null check (jsonb_typeof(entry) = 'object'),
	-- What can be called has a price.
	constraint models_available_needs_rates check (availability <> 'available' or retired_at is not null or rate_version is not null)
);

-- The prices of a model from valid_from until its next version. Calls pin the version they used.
create table rate_cards (
	model_id   text not null references models (id),
	version    integer not null check (version >= 1),
	id         text not null unique generated always as (model_id || '@' || version::text) stored,
	valid_from timestamptz not null default now(),
	-- [{"meter": "input_tokens", "amount": nano-dollars, "per": quantity, "size": only where sizes differ}]
	rates      jsonb not null check (
		jsonb_typeof(rates) = 'array' and jsonb_array_length(rates) > 0
		and not rates @? '$[*] ? (!exists(@.meter) || !exists(@.amount) || !exists(@.per))'
		and not rates @? '$[*] ? (@.amount < 0 || @.per < 1 || @.amount.type() != "number" || @.per.type() != "number")'
	),
	primary key (model_id, version)
);

alter table models add constraint models_rate_card foreign key (id, rate_version)
	references rate_cards (model_id, version) deferrable initially deferred;

-- +goose StatementBegin
create function rate_cards_are_final() returns trigger language plpgsql as $$
begin
	raise exception 'rate cards are never changed: add a version' using errcode = 'restrict_violation';
end $$;
-- +goose StatementEnd

create trigger rate_cards_final before update or delete on rate_cards
	for each row execute function rate_cards_are_final();
create trigger rate_cards_whole before truncate on rate_cards
	for each statement execute function rate_cards_are_final();

create table routes (
	model_id    text not null references models (id),
	position    integer not null,
	provider_id text not null references providers (id) deferrable initially deferred,
	model       text not null check (model <> ''),
	style       text not null check (style in ('', 'chat', 'messages', 'responses', 'native')),
	preference  integer not null check (preference >= 1),
	weight      integer not null check (weight >= 1),
	timeouts    jsonb not null check (jsonb_typeof(timeouts) = 'object'),
	primary key (model_id, position),
	unique (model_id, provider_id, style, model)
);

-- One row: what belongs to no provider and no model, and a version that every change raises.
create table catalog_settings (
	single  boolean primary key default true check (single),
	version bigint not null default 0,
	aliases jsonb not null default '{}' check (jsonb_typeof(aliases) = 'object')
);

insert into catalog_settings default values;
