-- Records: pieces of work that must not be lost. Times are milliseconds since 1970 UTC.
create table record (
    id integer primary key,
    upstream text not null,
    tenant text not null default '',
    workload text not null check (workload in ('interactive', 'batch')),
    engine text,
    door text not null check (door in ('gateway', 'record')),
    state text not null check (state in ('waiting', 'in_flight', 'succeeded', 'pending', 'discarded')),
    method text not null,
    path text not null,
    headers text not null,
    idempotency_key text not null,
    body_hash blob not null,
    body_bytes integer not null,
    token_estimate integer not null,
    -- the caller's own credential served its live call and was never stored
    needs_credential integer not null default 0,
    callback_url text,
    created_at integer not null,

    -- the retry budget: what was spent of it, and what does not count (held by limiter, breaker, pause, deferral)
    attempts integer not null default 0,
    budget_attempts integer not null default 0,
    budget_from integer,
    held_ms integer not null default 0,
    deferred_ms integer not null default 0,
    -- who goes first among those that wait: retries last, unless their caller still waits
    lane text not null check (lane in ('interactive', 'batch', 'retry')),
    next_attempt_at integer,
    last_attempt_at integer,
    finished_at integer,

    -- the last failure
    error_class text,
    status integer,
    provider_type text,
    code text,
    message text,
    suggestion text,
    first_failed_at integer,

    -- what people decided
    disposition text check (disposition in ('open', 'snoozed', 'replaying', 'resolved', 'discarded')),
    decided_by text,
    decided_at integer,
    snoozed_until integer,
    replay_id integer
);

create unique index record_key on record (upstream, tenant, idempotency_key);
create index record_due on record (upstream, lane, next_attempt_at, id) where state = 'waiting';
create index record_in_flight on record (id) where state = 'in_flight';
create index record_expiry on record (finished_at) where state in ('succeeded', 'discarded');
create index record_triage on record (disposition, first_failed_at desc, id desc) where disposition is not null;
create index record_triage_class on record (disposition, error_class, first_failed_at desc, id desc) where disposition is not null;
create index record_triage_upstream on record (disposition, upstream, first_failed_at desc, id desc) where disposition is not null;
create index record_snoozed on record (snoozed_until) where disposition = 'snoozed';
create index record_replay on record (replay_id) where replay_id is not null;

-- Bodies stand apart, so that no list ever reads one.
create table payload (
    record_id integer primary key references record (id) on delete cascade,
    body blob not null
);

create table result (
    record_id integer primary key references record (id) on delete cascade,
    status integer not null,
    headers text not null,
    body blob not null,
    at integer not null
);

create table attempt (
    record_id integer not null references record (id) on delete cascade,
    number integer not null,
    at integer not null,
    took_ms integer not null,
    waited_ms integer not null,
    sent integer not null,
    status integer,
    error_class text,
    code text,
    message text,
    rule text,
    primary key (record_id, number)
) without rowid;

-- Counts are maintained, never computed over the table.
create table triage_count (
    disposition text not null,
    error_class text not null,
    upstream text not null,
    n integer not null,
    primary key (disposition, error_class, upstream)
) without rowid;

create trigger triage_count_in after insert on record when new.disposition is not null begin
    insert into triage_count values (new.disposition, new.error_class, new.upstream, 1)
        on conflict do update set n = n + 1;
end;

create trigger triage_count_out after delete on record when old.disposition is not null begin
    update triage_count set n = n - 1
        where disposition = old.disposition and error_class = old.error_class and upstream = old.upstream;
end;

create trigger triage_count_move after update of disposition, error_class on record
    when old.disposition is not new.disposition or old.error_class is not new.error_class begin
    update triage_count set n = n - 1
        where disposition = old.disposition and error_class = old.error_class and upstream = old.upstream;
    insert into triage_count
        select new.disposition, new.error_class, new.upstream, 1 where new.disposition is not null
        on conflict do update set n = n + 1;
end;

create table waiting_count (
    upstream text primary key,
    n integer not null
) without rowid;

create trigger waiting_count_in after insert on record when new.state = 'waiting' begin
    insert into waiting_count values (new.upstream, 1) on conflict do update set n = n + 1;
end;

create trigger waiting_count_move after update of state on record
    when (old.state = 'waiting') <> (new.state = 'waiting') begin
    insert into waiting_count values (new.upstream, iif(new.state = 'waiting', 1, -1))
        on conflict do update set n = n + excluded.n;
end;

create trigger waiting_count_out after delete on record when old.state = 'waiting' begin
    update waiting_count set n = n - 1 where upstream = old.upstream;
end;

-- Words of pending records: message, code, path, key and the payload's beginning. Chinese characters are spaced out
-- before they are put in, and asked for as a phrase. Rows are deleted by id when their record goes.
create virtual table record_text using fts5 (words, content = '', contentless_delete = 1);

create trigger record_text_out after delete on record begin
    delete from record_text where rowid = old.id;
end;

-- Outcomes that callers asked to be told of.
create table callback (
    record_id integer primary key references record (id) on delete cascade,
    url text not null,
    due_at integer not null,
    attempts integer not null default 0,
    last_error text
);
create index callback_due on callback (due_at);
