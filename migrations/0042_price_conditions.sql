-- +goose Up

-- Other prices for some calls, in the form of the catalog file: [{"prompt_over": 200000, "rates": {"input_tokens": "6 per 1M"}}]
alter table rate_cards add column conditions jsonb not null default '[]' check (jsonb_typeof(conditions) = 'array');

-- What a provider charges the operator for the calls of a route, from valid_from until the next version. Records name the version.
create table cost_cards (
	-- The id of the route: model#provider/style/name of the model at the provider. A route that leaves the catalog keeps its versions.
	route      text not null check (route <> ''),
	version    integer not null check (version >= 1),
	id         text not null unique generated always as (route || '@' || version::text) stored,
	valid_from timestamptz not null default now(),
	-- The form of rates and conditions is that of rate_cards.
	rates      jsonb not null check (jsonb_typeof(rates) = 'array' and jsonb_array_length(rates) > 0),
	conditions jsonb not null default '[]' check (jsonb_typeof(conditions) = 'array'),
	primary key (route, version)
);

create trigger cost_cards_final before update or delete on cost_cards
	for each row execute function rate_cards_are_final();
create trigger cost_cards_whole before truncate on cost_cards
	for each statement execute function rate_cards_are_final();

-- The cost card in force; null when the cost is unknown.
alter table routes add column cost_card text references cost_cards (id);
