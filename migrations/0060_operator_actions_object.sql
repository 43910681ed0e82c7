-- +goose NO TRANSACTION
-- +goose Up

-- The page of a job lists what operators did to it.
create index concurrently if not exists operator_actions_object on operator_actions (object, at desc)
	where object <> '';
