-- Systems that limit by themselves, and what they report (C5). A sample holds the counters of the window that ended at `at`.
create table source_sample (
    source text not null,
    upstream text not null,
    engine text not null,
    at integer not null,
    window_ms integer not null,
    received_at integer not null,
    requests integer not null,
    accepted integer not null,
    refused_locally integer not null,
    rate_limited integer not null,
    timeout integer not null,
    server_error integer not null,
    content_violation integer not null,
    client_error integer not null,
    tokens integer not null,
    completed integer not null,
    queue_depth integer,
    p50_ms real,
    p95_ms real,
    p99_ms real,
    rate_per_s real,
    burst real,
    tokens_left real,
    breaker text,
    primary key (source, upstream, engine, at)
) without rowid;
create index source_sample_by_time on source_sample (at);

-- Who sends samples of what, and how late. The worst is forgotten after an hour.
create table source_stream (
    source text not null,
    upstream text not null,
    engine text not null,
    last_at integer not null,
    last_received_at integer not null,
    late_ms integer not null,
    worst_late_ms integer not null,
    worst_late_at integer not null,
    primary key (source, upstream, engine)
) without rowid;

create table source (
    name text primary key,
    first_seen_at integer not null,
    last_seen_at integer not null,
    samples integer not null default 0,
    pending integer not null default 0,
    known integer not null default 0,
    refused integer not null default 0,
    refused_at integer,
    refused_why text,
    -- where outcomes of its records are told that name no place themselves
    callback_url text
) without rowid;

-- How a source's records are sent from here when they come without method and path.
create table source_request (
    source text not null references source (name) on delete cascade,
    upstream text not null,
    method text not null,
    path text not null,
    headers text not null,
    primary key (source, upstream)
) without rowid;

-- The source of a record that failed elsewhere; its method and path are empty where the source did not tell them.
alter table record add column source text;
create index record_source on record (source, upstream, disposition, method) where source is not null;

-- Keys under which records were reported that were edited since, and so have another: reported again, they are still known.
create table former_key (
    upstream text not null,
    key text not null,
    record_id integer not null references record (id) on delete cascade,
    primary key (upstream, key)
) without rowid;
create index former_key_record on former_key (record_id);
