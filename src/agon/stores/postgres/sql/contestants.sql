-- name: contestants
-- Every contestant that is not removed.
select name, kind, model, urls, key_env, sha256, weight, max_concurrent, prefill, draining, draft, state, origin
from contestants where state <> 'removed' order by name;

-- name: insert_contestant
-- A new contestant, or one that was removed and comes back.
insert into contestants as c
    (name, kind, model, urls, key_env, sha256, weight, max_concurrent, prefill, draining, draft, state, origin)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
on conflict (name) do update
set kind = excluded.kind, model = excluded.model, urls = excluded.urls, key_env = excluded.key_env,
    sha256 = excluded.sha256, weight = excluded.weight, max_concurrent = excluded.max_concurrent,
    prefill = excluded.prefill, draining = excluded.draining, draft = excluded.draft, state = excluded.state, origin = excluded.origin, updated_at = now()
where c.state = 'removed' or $14
returning name;

-- name: add_admin_key
-- Remembers an admin key by its hash.
insert into admin_keys (hash) values ($1);

-- name: drop_admin_keys
-- Forgets every admin key.
delete from admin_keys;

-- name: any_admin_key
-- Whether a key was ever made.
select exists (select from admin_keys) as found;

-- name: check_admin_key
-- Whether this hash is a key's.
select exists (select from admin_keys where hash = $1) as found;
