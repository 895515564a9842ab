-- Replicas that an admin takes out of use: they finish what they have and get nothing new.
alter table contestants add column draining text[] not null default '{}';
