-- What is over is found by its state and time, however much is not over yet.
drop index record_expiry;
create index record_expiry on record (state, finished_at) where state in ('succeeded', 'discarded');
create index sample_by_time on sample (at);
