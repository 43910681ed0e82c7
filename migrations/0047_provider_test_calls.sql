-- +goose Up

-- Calls that test a provider. The operator pays for them, and no account does. The cost is null when it is not known, and by is the user
-- for whom the call was made; empty for a command of the program.
create table provider_test_calls (
	id            bigint generated always as identity primary key,
	at            timestamptz not null,
	provider      text not null,
	model         text not null,
	style         text not null,
	by            text not null,
	input_tokens  bigint not null,
	output_tokens bigint not null,
	cost_nanos    bigint
);
create index provider_test_calls_at on provider_test_calls (at);
