-- What retries brought (F10): by upstream, class of the failure before, number of the attempt, and day (days since 1970 UTC).
create table retry_stat (
    upstream text not null,
    error_class text not null,
    attempt integer not null,
    day integer not null,
    tried integer not null,
    succeeded integer not null,
    primary key (upstream, error_class, attempt, day)
) without rowid;
