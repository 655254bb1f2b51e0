-- Upstreams as they are in force, and every version that was.
create table upstream (
    name text primary key,
    version integer not null,
    config text not null,
    updated_at integer not null
) without rowid;

create table upstream_version (
    name text not null,
    version integer not null,
    config text not null,
    at integer not null,
    who text not null,
    reason text,
    primary key (name, version)
) without rowid;

-- What people set over a breaker's computed state; survives a restart.
create table breaker_forced (
    upstream text primary key,
    mode text not null check (mode in ('open', 'disabled', 'metrics_only')),
    until integer,
    reason text,
    who text not null,
    at integer not null
) without rowid;

create table breaker_event (
    id integer primary key,
    upstream text not null,
    at integer not null,
    became text not null,
    cause text,
    reason text,
    who text
);
create index breaker_event_by_upstream on breaker_event (upstream, at);
create index breaker_event_by_time on breaker_event (at);
