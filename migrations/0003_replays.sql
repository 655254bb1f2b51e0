-- Bulk replays: the frozen selection with a ledger per record.
create table replay (
    id integer primary key,
    state text not null check (state in ('running', 'paused', 'done', 'cancelled')),
    filter text not null,
    started_by text not null,
    created_at integer not null,
    finished_at integer,
    command_key text unique,
    total integer not null,
    succeeded integer not null default 0,
    failed integer not null default 0,
    skipped integer not null default 0
);

create table replay_item (
    replay_id integer not null references replay (id) on delete cascade,
    record_id integer not null,
    state text not null default 'queued' check (state in ('queued', 'sent', 'succeeded', 'failed', 'skipped')),
    at integer,
    primary key (replay_id, record_id)
) without rowid;
create index replay_item_queued on replay_item (replay_id, record_id) where state = 'queued';
create index replay_item_done on replay_item (replay_id, at) where state in ('succeeded', 'failed');
