-- What the texts of a voted battle tell about it, so that a worker that starts need not read all texts again. Derived:
-- rows by older rules (version) are written anew, and the table may be emptied at any time.
create table vote_traits (
    vote        bigint primary key references votes (id),
    version     integer not null,
    categories  text[] not null,
    tokens_a    integer not null,
    headers_a   integer not null,
    lists_a     integer not null,
    bold_a      integer not null,
    tokens_b    integer not null,
    headers_b   integer not null,
    lists_b     integer not null,
    bold_b      integer not null
);
