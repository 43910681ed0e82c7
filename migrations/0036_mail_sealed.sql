-- +goose Up
-- Mails hold links that let their reader in, so their bodies are sealed with the server's key, and deleted when the mail has ended.
-- Mails that wait while this migration runs keep their readable body until then.
alter table mails add column body_sealed bytea;
alter table mails drop constraint mails_body_text_check;
alter table mails alter column body_text set default '';
update mails set body_text = '', body_html = '' where state in ('sent', 'failed');
