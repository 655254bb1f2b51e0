-- What happened in each ten seconds, per upstream.
create table sample (
    upstream text not null,
    at integer not null,
    utilisation real not null,
    accepted integer not null,
    refused integer not null,
    rate_limited integer not null,
    timeout integer not null,
    server_error integer not null,
    content_violation integer not null,
    client_error integer not null,
    breaker text not null,
    queued integer not null,
    primary key (upstream, at)
) without rowid;

-- Signed-in operators. Only hashes of the cookies are kept.
create table session (
    token_hash blob primary key,
    created_at integer not null,
    expires_at integer not null
) without rowid;
