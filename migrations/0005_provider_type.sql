-- The provider's word for the kind of error, with each attempt; the record had it alone.
alter table attempt add column provider_type text;
