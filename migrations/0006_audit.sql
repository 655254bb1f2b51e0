-- Who changed what, through which door, and what stood there before and after. Written with the change itself.
create table audit (
    id integer primary key,
    at integer not null,
    who text not null,
    via text not null,
    action text not null,
    subject text not null,
    before text,
    after text,
    reason text
);
create index audit_by_subject on audit (subject, id desc);
create index audit_by_action on audit (action, id desc);
create index audit_by_time on audit (at);
