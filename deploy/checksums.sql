-- Of every table: its name, how many rows it has, and a checksum of them in any order.
SELECT format(
    'SELECT %L, count(*), coalesce(sum((''x'' || md5(t::text))::bit(64)::bigint::numeric), 0) FROM %I t',
    tablename, tablename
)
FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename
\gexec
SELECT 'triggers', count(*), coalesce(sum(('x' || md5(tgname))::bit(64)::bigint::numeric), 0)
FROM pg_trigger WHERE NOT tgisinternal;
