-- Keys of workers on other hosts. Only hashes are kept.
create table worker_key (
    id integer primary key,
    name text not null,
    hash blob not null unique,
    hint text not null,
    created_at integer not null,
    created_by text not null,
    last_used_at integer,
    revoked_at integer,
    revoked_by text
);
