-- +goose Up

-- Libraries of models that operators put in place of that of the program. The last one counts while its data is newer than that of the
-- program.
create table model_libraries (
	number    bigint generated always as identity primary key,
	-- The day of the data.
	day       date not null,
	-- A line with the day and the sources, then one line of JSON for each model.
	content   text not null check (content <> ''),
	stored_by text not null,
	stored_at timestamptz not null default now()
);

-- Routes may have the styles that only providers speak, too: Bedrock's converse and Cohere's.
alter table routes
	drop constraint if exists routes_style_check,
	add constraint routes_style_check
		check (style in ('', 'chat', 'messages', 'responses', 'native', 'converse', 'cohere', 'videos', 'operations', 'tasks'));
