-- name: engine_checks
-- The last look at each engine, and whether it has been rolled back since.
select revision, engine, verdict, figures, checked_at, since
from (
    select distinct on (c.revision, c.engine) c.revision, c.engine, c.verdict, c.figures, c.checked_at, r.since
    from drift_checks c left join engines_rolled_back r using (revision, engine)
    order by c.revision, c.engine, c.id desc
) latest
order by checked_at desc limit $1;
