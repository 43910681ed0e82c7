-- +goose Up

-- The material assets that a video was asked for with, in the order of the call. They are no reference: what is deleted
-- later stays named here, as the video was made with it.
alter table video_jobs add column asset_ids text[] not null default '{}';
