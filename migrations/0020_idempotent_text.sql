-- +goose Up

-- An answer is put beside its key before its charge is made durable, so that a crash between the two loses neither. It counts
-- as the answer once status is there, or when a repetition finds that nobody works on the request any more. A stream keeps an
-- empty answer from its beginning: it cannot be told again.
alter table idempotency_keys
	add column prepared integer,
	drop constraint idempotency_keys_check,
	add constraint idempotency_keys_answer check ((prepared is null and status is null) = (answer is null));
