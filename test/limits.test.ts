/**
 * The tables of limits in docs/operations.md say what the program has: each row here names the words of a row there, and where in the
 * program its numbers stand. Whatever is given out in turns has a row.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';

const ROOT = join(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const document = read('docs/operations.md');

/** Beginning of a row, a part of what stands in it, a file, and a part of what stands there. */
const LIMITS: readonly (readonly [row: string, told: string, file: string, stands: string])[] = [
  ['records of one zone file over the API', '1,000,000', 'control/rules/quotas.ts', 'records_per_file: 1_000_000'],
  ['records that `$GENERATE` makes', '65,536', 'control/imports/reader.ts', 'generated: 65_536'],
  ['records that `$GENERATE` makes', '`zone import`: 1,000,000', 'dns/zonefile/parser.ts', 'generated: 1_000_000'],
  ['large zone files', '4, 2 (see above)', 'control/imports/places.ts', 'places: 4, waiting: 64, beyond: 4'],
  ['large zone files', 'at most 16 of one account', 'control/imports/places.ts', 'places: 2, waiting: 16'],
  ['large zone files', 'for 30 s', 'control/imports/places.ts', 'waitMs: 30_000'],
  ['large zone files', '64 MiB of one account', 'control/imports/places.ts', 'MOST_OCTETS_OF_ACCOUNT = 64 << 20'],
  ['large zone files', '256 MiB of all', 'control/imports/places.ts', 'MOST_OCTETS = 256 << 20'],
  ['long reads of one account at once', '| 2 ', 'api/reading/readers.ts', 'places: THREADS / 2'],
  [
    'long reads of one account that wait',
    '200, for 30 s',
    'api/reading/readers.ts',
    'waiting: 200 }],\n  waitMs: 30_000',
  ],
  ['long reads of all accounts', '4, 1,000', 'api/reading/readers.ts', 'const THREADS = 4;'],
  ['long reads of all accounts', '4, 1,000', 'api/reading/readers.ts', 'places: THREADS, waiting: 1000'],
  ['answers of long reads', '8 of one account, 32 of all', 'api/reading/readers.ts', 'const UNREAD_OF_ONE = 8;'],
  ['answers of long reads', '8 of one account, 32 of all', 'api/reading/readers.ts', 'places: 32, waiting: 1000'],
  ['exports of all accounts', '2, of the long reads', 'api/reading/readers.ts', 'places: THREADS / 2, waiting: 1000'],
  ['requests of one token', '12,000', 'config/schema.ts', 'default(12_000)'],
  ['zones, members, tokens', '100,000, 1,000, 10,000', 'control/rules/quotas.ts', 'zones: 100_000'],
  ['zones, members, tokens', '100,000, 1,000, 10,000', 'control/rules/quotas.ts', 'tokens: 10_000,\n  members: 1_000'],
  ['policies of a token', '1,000; 1,000', 'control/access/policy.ts', 'MOST_RESOURCES = 1000'],
  ['policies of a token', '1,000; 1,000', 'control/access/policy.ts', 'MOST_PATTERNS_IN_ALL = 1000'],
  ['users of all accounts', '10,000', 'control/access/accounts.ts', 'MOST_USERS = 10_000'],
  ['users of all accounts', 'half of what others leave', 'control/access/accounts.ts', '(all - own)) / 2'],
  ['records of an account', '5,000,000', 'control/rules/quotas.ts', 'records: 5_000_000'],
  ['custom hostnames of an account', '50,000', 'control/rules/quotas.ts', 'hostnames: 50_000'],
  ['monitors, pools and load balancers', '10,000', 'control/rules/quotas.ts', 'balancing: 10_000'],
  ['origins of one load balancer', '1,000, 1,000', 'control/balancing/limits.ts', 'MOST_ORIGINS = 1000'],
  ['origins of one load balancer', '1,000, 1,000', 'control/balancing/limits.ts', 'MOST_BALANCERS = 1000'],
  ['rules of a zone', '300, 256 KiB, 16 MiB', 'control/rules/quotas.ts', 'rules: 16 * 2 ** 20'],
  ['rules of a zone', '300, 256 KiB, 16 MiB', 'control/rulesets/write.ts', 'MOST_RULES = 300'],
  ['rules of a zone', '300, 256 KiB, 16 MiB', 'control/rulesets/write.ts', 'MOST_OCTETS = 256 * 1024'],
  [
    'buckets, objects, octets',
    '1,000, 10,000,000, 1 TiB',
    'control/rules/quotas.ts',
    'buckets: 1_000,\n  objects: 10_000_000',
  ],
  ['questions to resolvers of one account', '64', 'resolver/look-ups.ts', 'QUESTIONS = { places: 64'],
  ['questions to resolvers of one account', 'after 10 s', 'resolver/look-ups.ts', 'WAIT_MS = 10_000'],
  ['searches at parents', '16 and 64', 'resolver/look-ups.ts', 'SEARCHES = { places: 16'],
  ['signatures made while queries wait', '500 that wait', 'compact/waiting-queries.ts', 'MOST_WAITING = 500'],
  ['scans of one account', '8 (see', 'control/records/scan.ts', 'MOST_RUNNING = { places: 8, beyond: 56 }'],
  ['signatures and proofs of a transfer', '1,000,000', 'transfer/in/collection.ts', 'MOST_PROOFS = 1_000_000'],
  ['signatures and proofs of a transfer', '1,500,000', 'transfer/in/collection.ts', 'MOST_TOGETHER = 1_500_000'],
  ['signatures and proofs of a transfer', '3,000,000', 'transfer/in/collection.ts', 'MOST_OF_ALL = 2 * MOST_TOGETHER'],
  ['differences from a primary', '100,000', 'transfer/in/reading.ts', 'MOST_DIFFERENCES = 100_000'],
  ['differences from a primary', '32 MiB', 'transfer/in/reading.ts', 'MOST_DIFFERENCE_OCTETS = 32 << 20'],
  [
    'records of one name and type from a primary',
    '128 KiB',
    'control/imports/rrset-size.ts',
    'MOST_SENT_OCTETS = 128 << 10',
  ],
  ['types of records at one name', '256', 'control/imports/rrset-size.ts', 'MOST_TYPES = 256'],
  ['a signed zone from elsewhere', '64, 4', 'dnssec/verify.ts', 'MOST_KEYS = 64'],
  ['a signed zone from elsewhere', '64, 4', 'dnssec/verify.ts', 'MOST_ALIKE = 4'],
  ['a signed zone from elsewhere', '; 64', 'dnssec/verify-signatures.ts', 'MOST_SIGNATURES = 64'],
  ['history, changes and audit log', '200,000, 200,000', 'store/log/edits.ts', 'KEPT_EDITS = 200_000'],
  ['history, changes and audit log', '1,000,000 entries', 'store/log/events.ts', 'kept: 1_000_000'],
  ['deliveries of alerts', '256, 128, 1', 'alerts/deliverer.ts', 'places: 256'],
  ['messages by mail', '8, 4, 2', 'mail/mail.ts', 'places: 8,'],
  ['one message by mail', '60 s; 20 s', 'mail/mail.ts', 'LONGEST_MS = 60_000'],
  ['tests of receivers', '16, 2', 'alerts/send-alert.ts', 'places: 16'],
  ['YAML files of templates at once', '2, 1, 64 KiB', 'control/templates/text-threads.ts', 'places: 2, waiting: 100'],
  ['YAML files of templates at once', '2, 1, 64 KiB', 'control/templates/text-threads.ts', 'places: 1, waiting: 10'],
  ['templates of an account', '200, 200, 100', 'control/templates/templates.ts', 'MOST_TEMPLATES = 200'],
  ['templates of an account', '200, 200, 100', 'control/templates/apply.ts', 'MOST_ZONES = 100'],
  ['probes of origins at once', '1,000, 300', 'monitoring/prober.ts', 'places: 1000, waiting: 200_000'],
  ['probes of origins at once', '1,000, 300', 'monitoring/prober.ts', 'places: 300, waiting: 2000'],
  ['probes of previews at once', '400, 200', 'roles/probing/process.ts', 'places: 400, waiting: 100_000'],
  ['probes of previews at once', '400, 200', 'roles/probing/process.ts', 'places: 200, waiting: 20_000'],
  ['zones whose statistics', '2,000, 4 MiB a time', 'statistics/recorder.ts', 'MOST_ZONES = 2000'],
  ['zones whose statistics', '2,000, 4 MiB a time', 'statistics/recorder.ts', 'MOST_CHARACTERS = 4 << 20'],
  ['zones examined for mail warnings', '10,000; 20,000, 2,000; 200', 'warnings/policies.ts', 'MOST_ZONES = 10_000'],
  ['zones examined for mail warnings', '10,000; 20,000, 2,000; 200', 'warnings/policies.ts', 'MOST_OF_ZONE = 2000'],
  ['zones examined for mail warnings', '10,000; 20,000, 2,000; 200', 'warnings/policies.ts', 'MOST_FINDINGS = 200'],
  ['sessions by fields at the edge', '100,000', 'edge/balance/sessions.ts', 'MOST_SESSIONS = 100_000'],
  ['previews of monitors', '20, for 10 min', 'monitoring/previews.ts', 'MOST_OF_ACCOUNT = 20'],
  ['previews of monitors', 'half of what others leave', 'base/turn-classes.ts', '(inAll - (all - own)) / 2'],
  ['previews of monitors', 'the 1,000 of all', 'monitoring/previews.ts', 'MOST = 1000'],
  ['uploads in parts of one bucket', '1,000', 'bucket/uploads/local-uploads.ts', 'MOST_UPLOADS = 1000'],
  ['uploads in parts of one bucket', '20,000 in all', 'bucket/uploads/local-uploads.ts', 'MOST_OF_ACCOUNT = 20_000'],
  ['writes of all accounts', '100, in turns', 'control/kernel/commit.ts', 'MOST_TOGETHER = 100'],
  ['records of a change that the write', '| 60 ', 'control/kernel/commit.ts', 'FEW_EDITS = 60'],
  ['names without records', '10,000', 'control/rules/names-of-edits.ts', 'MOST_EMPTY_NAMES = 10_000'],
  ['names without records', 'two for each', 'control/rules/names-of-edits.ts', 'MOST_OF_RECORD = 2'],
  ['XML of the S3 API', '10,000, 1,000', 's3/xml.ts', 'MOST_ITEMS = 10_000'],
  ['XML of the S3 API', '10,000, 1,000', 's3/xml.ts', 'MOST_TAGS = 1000'],
  ['connections to the admin API', '2,048', 'api/connection.ts', 'MOST_CONNECTIONS = 2048'],
  ['connections to the admin API', '2,048', 's3/server.ts', 'MOST_CONNECTIONS = 2048'],
  ['connections to the admin API', '2,048', 'bucket/application.ts', 'MOST_CONNECTIONS = 2048'],
  ['bodies of objects', '1,024', 'bucket/bodies/open-bodies.ts', 'MOST_BODIES = 1024'],
  ['bodies of objects', 'for 5 s', 'bucket/bodies/open-bodies.ts', 'LONGEST_WAIT_MS = 5000'],
  ['one HTTP connection in a turn', '32, 256', 'base/connections/in-turns.ts', 'REQUESTS_A_TURN = 32'],
  ['connections that wait until', '4,096', 'base/connections/backlog.ts', 'BACKLOG = 4096'],
  ['one HTTP connection in a turn', '32, 256', 'base/connections/small-pieces.ts', 'PIECES_A_TURN = 256'],
  ['all HTTP connections in a turn', '32', 'base/connections/in-turns.ts', 'new FurtherRequests(REQUESTS_A_TURN)'],
  ['all HTTP connections in a turn', '512', 'edge/listen/front.ts', 'FURTHER_A_TURN = 512'],
  ['HTTP requests of all connections', '20,000', 'base/connections/in-turns.ts', 'MOST_WAITING = 20_000'],
  ['queries over TCP and TLS in a turn', '128', 'server/turns/answer-turns.ts', 'FRAMES_A_TURN = 128'],
  ['queries over TCP and TLS in a turn', '256', 'server/turns/answer-turns.ts', 'FRAMES_A_ROUND = 256'],
  ['DNS over HTTPS: requests', '1,000', 'server/https-connections.ts', 'requestsPerClient: 1000,\n  requests: 10_000'],
  ['DNS over HTTPS: such refusals', '100', 'server/https-connections.ts', 'refusals: 100'],
  ['such queries, what waits', '2 MiB', 'server/streams/stream-connections.ts', 'partialPerClient: 2 << 20'],
  ['such queries, what waits', '16 MiB', 'server/streams/stream-connections.ts', 'partial: 16 << 20'],
  ['such queries, what waits', '512', 'server/streams/partial-frame.ts', 'FREE = 512'],
  ['NOTIFY, UPDATE, signed queries', '500', 'server/turns/deferred-places.ts', 'of: 500, inAll: 1000'],
  [
    'DNS over TCP and TLS',
    '1,000, 100',
    'server/streams/stream-connections.ts',
    'connections: 1000,\n  connectionsPerClient: 100',
  ],
  ['outgoing transfers at once', '50, 25, 4', 'transfer/out/places.ts', 'places: 50, waiting: 500'],
  [
    'outgoing transfers at once',
    '50, 25, 4',
    'transfer/out/places.ts',
    'places: 25, waiting: 250 },\n    { places: 4,',
  ],
  ['a transfer while others wait', '64 KiB a second after 10 s', 'transfer/out/places.ts', 'SLOW_AFTER_MS = 10_000'],
  ['UPDATE: a second', '50 and 200, 500 and 1,000', 'transfer/update/admission.ts', 'perSecond: 50, burst: 200'],
  ['UPDATE: a second', '50 and 200, 500 and 1,000', 'transfer/update/admission.ts', 'perSecond: 500, burst: 1000'],
  ['such refusals: a second', '10 and 200, 50 and 1,000', 'transfer/update/admission.ts', 'perSecond: 10, burst: 200'],
  ['such refusals: a second', '10 and 200, 50 and 1,000', 'transfer/update/admission.ts', 'perSecond: 50, burst: 1000'],
  ['UPDATE under way', '200, 64, 8', 'transfer/update/admission.ts', 'places: 200, waiting: 600'],
  ['UPDATE under way', 'for 3 s', 'transfer/update/admission.ts', 'waitMs: 3000'],
  ['NOTIFY under way', '80, 64, 8', 'transfer/notify/notifier.ts', 'places: 80'],
  ['S3: chunks of a signed body', '32, in turns', 's3/signature/chunks.ts', 'CHUNKS_A_TURN = 32'],
  ['admin API, S3: TLS handshakes', '2, in turns', 'base/connections/handshake-turns.ts', 'STARTS_A_TURN = 2'],
  ['admin API, S3: TLS handshakes', 'after 10 s', 'base/connections/handshake-turns.ts', 'HELLO_MS = 10_000'],
  ['edge: connections of one client', '4,096', 'edge/edge.ts', 'MOST_CONNECTIONS_OF_ONE = 4096'],
  ['edge: connections of one client', '4,096, 65,536', 'edge/listen/connections.ts', 'MOST_CONNECTIONS = 65_536'],
  ['edge: connections of one client', '64 KiB each', 'edge/listen/connections.ts', 'CONNECTION_OCTETS = 65_536'],
  ['edge: TLS contexts that are kept', '2,000', 'edge/tls/contexts.ts', 'MOST_CONTEXTS = 2000'],
  ['edge: TLS contexts that are kept', '100,000', 'edge/route/table.ts', 'MOST_HOSTS = 100_000'],
  ['edge: TLS contexts that are kept', '10,000', 'edge/proxy/origin-plan.ts', 'MOST_NAMES = 10_000'],
  ['edge: TLS contexts that are kept', '10,000, in each', 'edge/cache/cache.ts', 'MOST_NOT_STORED = 10_000'],
  ['answers of outside resolvers', '20,000; 16 MiB', 'resolver/resolve.ts', 'entries: 20_000,\n  octets: 16 << 20'],
  ['edge: connections to origins without', '2,048', 'edge/http1/origins.ts', 'MOST_IDLE = 2048'],
  ['edge: connections to origins without', '2,048', 'edge/proxy/general-pools.ts', 'MOST_POOLS = 2048'],
  ['edge: TLS handshakes that start', '2, in turns', 'edge/listen/tls-accept.ts', 'STARTS_A_TURN = 2'],
  ['edge: connections of a client that', '3 for resets, 20', 'edge/listen/connections.ts', 'resets: 3, broken: 20'],
  ['edge: requests at origins', '8,192', 'edge/proxy/origin-places.ts', 'MOST_PLACES = 8192'],
  ['edge: requests at origins', 'for 5 s', 'edge/proxy/origin-places.ts', 'PLACE_WAIT_MS = 5000'],
  ['edge: requests that wait', '512, 2,048', 'edge/proxy/origin-places.ts', 'MOST_WAITING_OF_CLIENT = 512'],
  ['edge: requests that wait', '512, 2,048', 'edge/proxy/origin-places.ts', 'MOST_WAITING_OF_ZONE = 2048'],
  ['edge: requests over HTTP/2 that are open', '4,096', 'edge/exchange/open-streams.ts', 'MOST_OF_CLIENT = 4096'],
  ['edge: requests over HTTP/2 that are open', '32,768', 'edge/exchange/open-streams.ts', 'MOST_OF_ACCOUNT = 32_768'],
  ['edge: what a client takes', '1,024 octets', 'edge/exchange/stalls.ts', 'LEAST_OCTETS = 1024'],
  ['edge, HTTP/1: silence towards', '5 s', 'plain/half-closed.ts', 'QUIET_MS = 5000'],
  ['edge: a WebSocket of which', '60 s', 'edge/exchange/stalls.ts', 'STALL_MS = 60_000'],
  ['edge: pieces of bodies', '3, in turns', 'edge/compress/thread-turns.ts', 'MOST_AT_WORK = 3'],
  ['members of an account', '1,000; 5,000', 'control/rules/quotas.ts', 'MOST_MEMBERS = 1000'],
  ['members of an account', '1,000; 5,000', 'control/access/tokens.ts', 'MOST_TOKENS = 5000'],
  ['of these: peers', '200 of each; 20', 'control/secondary/peers.ts', 'MOST_PEERS = 200'],
  ['of these: peers', '200 of each; 20', 'control/secondary/tsigs.ts', 'MOST_KEYS = 200'],
  ['of these: peers', '200 of each; 20', 'control/secondary/acls.ts', 'MOST_ACLS = 200'],
  ['of these: peers', '200 of each; 20', 'control/catalogs/catalogs.ts', 'MOST_CATALOGS = 20'],
  ['of these: peers', '200 of each; 20', 'control/catalog-consumer/consumer.ts', 'MOST_CATALOGS = 20'],
  ['buckets of an account; custom', '10,000, whatever the quota; 50', 'bucket/buckets.ts', 'MOST_BUCKETS = 10_000'],
  ['buckets of an account; custom', '10,000, whatever the quota; 50', 'bucket/domains.ts', 'MOST_DOMAINS = 50'],
  ['JSON body; zone file', '1 MiB; 256 KiB, 64 MiB', 'api/body.ts', 'JSON_LIMIT_BYTES = 1 << 20'],
  ['JSON body; zone file', '3,500 records, 8 MiB', 'api/body.ts', 'BATCH_LIMIT_BYTES = 8 << 20'],
  ['JSON body; zone file', '1 MiB; 256 KiB, 64 MiB', 'api/dns-records/transfer.ts', 'FILE_LIMIT_BYTES = 256 * 1024'],
  ['JSON body; zone file', '1 MiB; 256 KiB, 64 MiB', 'api/zone-files/routes.ts', 'FILE_LIMIT_BYTES = 64 << 20'],
  ['JSON body; zone file', '400 (code 9207)', 'api/errors.ts', 'bodyTooLarge: { status: 400, code: 9207'],
  ['such bodies over 64 KiB', '256 MiB', 'api/body-room.ts', 'MOST_OCTETS = 256 << 20'],
  ['such bodies over 64 KiB', '256 MiB', 'api/body-room.ts', 'SMALL_OCTETS = 64 << 10'],
  ['S3: documents over 64 KiB', '64 MiB', 's3/body.ts', 'createMemoryShares<string>(64 << 20)'],
  ['JSON: levels', '32, 10,000, 200,000', 'api/json-bounds.ts', 'DEEPEST = 32'],
  ['JSON: levels', '32, 10,000, 200,000', 'api/json-bounds.ts', 'MOST_VALUES = 200_000'],
  ['body of a request to the API', '60 s', 'api/body.ts', 'BODY_TIMEOUT_MS = 60_000'],
  ['entries on a page', '50, 50,000, 100, 1,000, 1,000', 'api/paging.ts', 'usual: 100, most: 50_000'],
  ['search in all zones', '2,000 and 500,000', 'control/records/search.ts', 'MOST_RECORDS = 500_000'],
  ['words of a search', '| 10 ', 'control/records/records.ts', 'MOST_WORDS = 10'],
  ['values of one filter', '| 100 ', 'api/query.ts', 'MOST_VALUES = 100'],
  ['`wait_limit` of a write', '60 s; 25 s', 'api/receipt.ts', 'LONGEST_WAIT = 60'],
  ['records of one name and type', '60,000; 8,192', 'control/records/record-rules.ts', 'MOST_RRSET_OCTETS = 60_000'],
  ['records that a restoration undoes', '100,000', 'control/zones/history.ts', 'MOST_UNDONE = 100_000'],
  [
    'records of a change that the log lists',
    '5,000, 40,000; 16 MiB',
    'store/log/changes.ts',
    'MOST_CHANGED_RRS = 5000',
  ],
  ['records of a change that the log lists', '5,000, 40,000; 16 MiB', 'store/log/changes.ts', '= 8 * MOST_CHANGED_RRS'],
  ['a scan for records', '10 minutes; a day, 100', 'control/records/scan.ts', 'LONGEST_MS = 600_000'],
  ['history, changes and audit log', '2,000,000 records', 'store/log/edits.ts', 'KEPT_RECORDS = 2_000_000'],
  ['states of origins', '100,000, for 30 days; 200', 'store/balancing/health-events.ts', 'kept: 100_000'],
  ['states of origins', '100,000, for 30 days; 200', 'store/alerts/deliveries.ts', 'DELIVERIES_KEPT = 200'],
  ['conditions and characters', '50 and 2,000, 1,000', 'api/dns-analytics/filters.ts', 'MOST_TERMS = 50'],
  ['names, and types, of one policy', '100 each; 100', 'control/access/policy.ts', 'MOST_PATTERNS = 100'],
  ['names, and types, of one policy', '100 each; 100', 'control/access/networks.ts', 'MOST_NETWORKS = 100'],
  ['revoked credentials of one user', '1,000', 'store/access/keys.ts', 'KEPT_REVOKED = 1000'],
  ['sessions of one user', '100', 'control/access/sessions.ts', 'MOST_SESSIONS = 100'],
  [
    'streams of events',
    '20, 100, 100, 1,000',
    'api/events/streams.ts',
    'credential: 20, account: 100, network: 100, all: 1_000',
  ],
  ['calls that purge', '500 at once, 50 a second', 'control/zones/purge-limit.ts', 'BUCKET = 500'],
  ['a purged URL or prefix', '8,192, 1,024; 4 MiB', 'control/zones/purge.ts', 'MOST_URL_LENGTH = 8192'],
  ['a purged URL or prefix', '8,192, 1,024; 4 MiB', 'edge/purge/follow.ts', 'MOST_OCTETS = 4 << 20'],
  ['PEM of an uploaded', '64 KiB, 32 KiB', 'certs/upload.ts', 'MAX_CERTIFICATE_LENGTH = 64 * 1024'],
  ['an expression', '4,096, 32, 256, 512', 'expressions/limits.ts', 'length: 4096, depth: 32, nodes: 256'],
  ['key of an object', '1,024 octets, 8,192', 'bucket/object-store.ts', 'LONGEST_KEY = 1024'],
  ['key of an object', '1,024 octets, 8,192', 'bucket/publish.ts', 'MOST_METADATA = 8192'],
  ['S3: the clock', '15 minutes; 16 MiB', 's3/signature/verify.ts', 'SKEW_MS = 15 * 60_000'],
  ['S3: the clock', '15 minutes; 16 MiB', 's3/signature/chunks.ts', 'LARGEST_CHUNK = 16 << 20'],
  ['peers of a zone', '30, 8; 100,000', 'control/secondary/outgoing.ts', 'MOST_PEERS_OF_ZONE = 30'],
  ['peers of a zone', '30, 8; 100,000', 'control/secondary/incoming.ts', 'MOST_PRIMARIES = 8'],
  ['transfer from a primary', '5 s, 30 s, 2 h; 2 GiB', 'transfer/in/stream.ts', 'WHOLE_MS = 7_200_000'],
  ['links of a chain', '20; 150', 'answer/search.ts', 'MAX_CHAIN = 20'],
  ['TLS handshakes of DNS', '500, 50, 10 s', 'server/handshakes.ts', 'HANDSHAKES_PER_CLIENT = 50'],
  ['question to a resolver', '2 s, 6 s; 10', 'resolver/upstream.ts', 'DEADLINE_MS = 6000'],
  ['answer of an identity provider', '10 s, 1 MB; 20 s', 'sign-in/oidc/fetch.ts', 'MOST_OCTETS = 1_000_000'],
  ['answer to a probe', '16 KiB, 64 KiB, 5', 'monitoring/probes/http.ts', 'MOST_OCTETS = 64 * 1024'],
  ['receiver of an alert', '10 s', 'alerts/send.ts', 'LIMIT_MS = 10_000'],
  ['one write in the log', '256 MiB', 'store/log/write-logger.ts', 'MOST_LOGGED_OCTETS = 256 << 20'],
];

/** Turns whose limits stand elsewhere, or that are not limits. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'roles/probing/waiting-transitions.ts': 'what waits is bounded by what is probed: the last word of each origin',
  'control/kernel/kept-turns.ts': 'its numbers are its callers’',
  'cluster/turn.ts': 'a node has the turn to write, docs/cluster.md',
  'cluster/postgres-log.ts': 'the same',
  'bucket/local-store.ts': 'pieces of bodies: all are sent, one after the other',
  'edge/cache/stage.ts': 'the same',
  'jobs/places.ts': '«jobs of one kind», by kind',
  'resolver/outside.ts': '«searches at parents», whose numbers are its callers’',
  's3/body.ts': '«S3: chunks of a signed body in a turn», whose number stands where they are read',
  'sign-in/hash.ts': 'docs/people.md',
  'sign-in/letters.ts': 'the same',
  'transfer/out/spool-threads.ts': '«outgoing transfers at once», whose bounds are smaller',
};

/** Where the turns of a file are counted, by kind in the metrics; otherwise why they are not. */
const COUNTED: Readonly<Record<string, readonly string[] | string>> = {
  'alerts/deliverer.ts': ['alerts'],
  'alerts/send-alert.ts': ['alert-tests'],
  'api/reading/readers.ts': ['reads', 'exports', 'answers'],
  'bucket/bodies/open-bodies.ts': ['bodies'],
  'compact/waiting-queries.ts': 'compact denial has metrics of its own',
  'cluster/turn.ts': 'the turn of a node, not of an account',
  'cluster/postgres-log.ts': 'the same',
  'control/imports/places.ts': ['imports'],
  'control/kernel/commit.ts': ['writes'],
  'control/kernel/kept-turns.ts': 'its callers count them',
  'control/records/scan.ts': 'nobody waits: 429',
  'control/templates/text-threads.ts': ['template-texts'],
  'bucket/local-store.ts': 'pieces of bodies that wait for no more than the others of one turn of the event loop',
  'edge/cache/stage.ts': 'the same',
  'edge/compress/thread-turns.ts': 'the same, of encoders',
  'edge/listen/tls-accept.ts': 'the same, of handshakes',
  'edge/proxy/origin-places.ts': ['kind', 'kind-client'],
  'jobs/places.ts': ['job_kind', 'flattening'],
  'mail/mail.ts': ['mail'],
  'monitoring/previews.ts': 'nobody waits: 403',
  'monitoring/prober.ts': ['probes'],
  'resolver/look-ups.ts': ['look-ups', 'parents'],
  'resolver/outside.ts': ['questions'],
  'roles/probing/process.ts': ['previews'],
  'roles/probing/waiting-transitions.ts': 'nobody waits for them',
  's3/body.ts': 'chunks that wait for no more than the others of one turn of the event loop',
  'sign-in/hash.ts': ['passwords'],
  'sign-in/letters.ts': 'limits by the hour',
  'statistics/recorder.ts': 'nobody waits for them',
  'transfer/notify/notifier.ts': ['notify'],
  'transfer/out/places.ts': ['transfers'],
  'transfer/update/admission.ts': ['updates'],
  'warnings/policies.ts': 'an order of work in one turn',
  'server/https-connections.ts': 'nobody waits: refused',
  'server/streams/partial-frame.ts': 'nobody waits: the connection ends',
  'server/turns/deferred-places.ts': 'what is dropped counts as not answered',
  'server/turns/answer-turns.ts': 'connections wait for some frames of each client, not for what others hold',
  'transfer/out/spool-threads.ts': 'who waits for a thread holds a place of `transfers`, which are counted',
};

const files = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !file.startsWith('base/'),
);
const inTurns = files.filter((file) =>
  /\b(createTurns|keptTurns|createTurnQueue|createDividedTurnQueue|createBodyPace|createTurnPace|ClassedQueue|hasRoomFor|hasShareFor)\b[<(]/.test(
    read(`src/${file}`),
  ),
);

t.test('the tables say what the program does', async (t) => {
  const rows = document.split('\n').filter((line) => line.startsWith('| '));
  for (const [row, told, file, stands] of LIMITS) {
    const line = rows.find((one) => one.startsWith(`| ${row}`));
    t.ok(line?.includes(told), `${row}: ${told}`);
    t.ok(read(`src/${file}`).includes(stands), `${file}: ${stands}`);
  }
});

t.test('whatever is given out in turns stands there', async (t) => {
  const known = new Set([...LIMITS.map(([, , file]) => file), ...Object.keys(ELSEWHERE)]);
  t.ok(inTurns.length > 10);
  t.strictSame(
    inTurns.filter((file) => !known.has(file)),
    [],
  );
});

t.test('all turns are counted by kind', async (t) => {
  t.strictSame(
    inTurns.filter((file) => !(file in COUNTED)),
    [],
  );
  const kinds = new Set(
    files.flatMap((file) =>
      [...read(`src/${file}`).matchAll(/[sS]amples\(\s*(['`]?)([\w${}-]+)\1[,)]/g)].map(([, , kind]) =>
        kind!.replace(/[${}]/g, ''),
      ),
    ),
  );
  for (const [file, counted] of Object.entries(COUNTED)) {
    t.ok(inTurns.includes(file), file);
    if (typeof counted === 'string') continue;
    for (const kind of counted) {
      t.ok(kinds.has(kind), kind);
      if (!kind.includes('kind')) t.ok(document.includes(`\`${kind}\``), `docs/operations.md: ${kind}`);
    }
  }
});
