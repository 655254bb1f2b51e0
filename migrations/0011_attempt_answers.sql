-- What is needed to understand an attempt later: how it broke, what became of the record after it and why, and what was answered.
alter table attempt add column broken text;
alter table attempt add column then_what text check (then_what in ('retry', 'defer', 'park'));
alter table attempt add column then_why text;
alter table attempt add column then_wait_ms integer;

-- A failed attempt's answer. Apart from the attempts, so that nothing else reads a body.
create table attempt_answer (
    record_id integer not null references record (id) on delete cascade,
    number integer not null,
    headers text not null,
    body blob not null,
    cut integer not null,
    primary key (record_id, number)
);

-- By how much an upstream's own word lowered what was thought to be left, as a share of a minute's quota; and the requests that it
-- counted and that were not sent from here.
alter table sample add column drift real not null default 0;
alter table sample add column foreign_requests integer not null default 0;
