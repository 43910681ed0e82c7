-- +goose Up

-- What became of background work lately is counted for operators; without these each look would read everything that ever ended.
create index video_jobs_ended on video_jobs (completed_at) where completed_at is not null;
create index webhook_deliveries_ended on webhook_deliveries (state, updated_at) where state in ('delivered', 'failed');
create index assets_settled on assets (updated_at) where due_at is null;

-- Who ended a code before its time. Empty where nobody did.
alter table promo_codes add column ended_by text not null default '';
