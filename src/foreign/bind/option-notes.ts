/** What becomes of the options of BIND that are not about zones, keys and who may transfer. */
import { mayBeSecret, type Note } from '../configuration.js';
import { blockOf, type Clause, isWord, nameOf, wordsOf } from './clauses.js';

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/));

/** Read elsewhere. */
const READ = words(`
  acl allow-transfer allow-update also-notify auto-dnssec catalog-zones dnssec-policy file inline-signing in-view key
  key-directory masterfile-format masters notify options primaries remote-servers parental-agents server template tls type
  update-policy view zone
`);

/** This service does these by itself, or needs none of them. */
const SELF = words(`
  additional-from-auth additional-from-cache allow-notify answer-cookie auth-nxdomain automatic-interface-scan bindkeys-file
  check-names check-dup-records check-integrity check-mx check-mx-cname check-sibling check-spf check-srv-cname check-svcb
  check-wildcard controls cookie-algorithm coresize datasize directory dnssec-accept-expired dnssec-loadkeys-interval dnssec-enable
  dnssec-update-mode dump-file dialup edns-udp-size files fstrm-set-buffer-hint fstrm-set-flush-timeout flush-zones-on-shutdown
  geoip-directory heartbeat-interval interface-interval interval http-listener-clients http-streams-per-connection
  ixfr-from-differences journal keep-response-order listen-on-tls lock-file logging managed-keys-directory masterfile-style
  match-mapped-addresses max-ixfr-ratio max-journal-size max-records max-refresh-time max-retry-time max-rsa-exponent-size
  max-transfer-idle-in max-transfer-idle-out max-transfer-time-in max-transfer-time-out max-udp-size max-zone-ttl memstatistics
  memstatistics-file message-compression min-refresh-time min-retry-time minimal-any minimal-responses multi-master notify-delay
  notify-rate notify-to-soa nta-lifetime nta-recheck no-case-compress nocookie-udp-size notify-source notify-source-v6
  parental-source parental-source-v6 pid-file port preferred-glue provide-ixfr querylog recursing-file
  request-expire request-ixfr request-nsid require-server-cookie reserved-sockets responselog rrset-order secroots-file send-cookie
  serial-query-rate serial-queries serial-update-method session-keyalg session-keyfile session-keyname sig-signing-nodes
  sig-signing-signatures sig-signing-type sig-validity-interval sortlist stacksize startup-notify-rate statistics-channels
  statistics-file statistics-interval tcp-advertised-timeout tcp-clients tcp-idle-timeout tcp-initial-timeout
  tcp-keepalive-timeout tcp-listen-queue tcp-receive-buffer tcp-send-buffer tkey-dhkey tkey-domain tkey-gssapi-credential
  tkey-gssapi-keytab tls-port transfer-format transfer-message-size transfer-source transfer-source-v6 transfers-in transfers-out
  transfers-per-ns trust-anchor-telemetry try-tcp-refresh udp-receive-buffer udp-send-buffer update-check-ksk use-alt-transfer-source
  use-v4-udp-ports use-v6-udp-ports user version zero-no-soa-ttl zero-no-soa-ttl-cache zone-statistics dnskey-sig-validity
  dnssec-dnskey-kskonly dnssec-secure-to-insecure checkds alt-transfer-source alt-transfer-source-v6
`);

const RESOLVER = words(`
  acache-cleaning-interval acache-enable allow-query-cache allow-query-cache-on allow-recursion allow-recursion-on
  attach-cache avoid-v4-udp-ports avoid-v6-udp-ports cleaning-interval clients-per-query deny-answer-addresses deny-answer-aliases
  disable-algorithms disable-ds-digests disable-empty-zone dns64 dns64-contact dns64-server dnssec-lookaside dnssec-must-be-secure
  dnssec-validation dual-stack-servers empty-contact empty-server empty-zones-enable fetch-glue fetch-quota-params fetches-per-server
  fetches-per-zone forward forwarders glue-cache has-old-clients host-statistics ipv4only-contact ipv4only-enable
  ipv4only-server lame-ttl managed-keys max-acache-size max-cache-size max-cache-ttl max-clients-per-query max-ncache-ttl max-query-count
  max-query-restarts max-recursion-depth max-recursion-queries max-stale-ttl max-validations-per-fetch min-cache-ttl min-ncache-ttl
  prefetch qname-minimization query-source query-source-v6 recursion recursive-clients resolver-nonbackoff-tries
  resolver-query-timeout resolver-retry-interval response-policy root-delegation-only root-key-sentinel servfail-ttl
  stale-answer-client-timeout stale-answer-enable stale-answer-ttl stale-cache-enable stale-refresh-time synth-from-dnssec
  tkey-gssapi-credential topology trust-anchors trusted-keys validate-except nxdomain-redirect rfc2308-type1 max-validation-failures-per-fetch
`);

/** They choose among views. */
const OF_VIEWS = words('match-clients match-destinations match-recursive-only');

/** What to set instead. */
const SETTINGS: ReadonlyMap<string, string> = new Map([
  ['listen-on', 'dns-host and dns-port'],
  ['listen-on-v6', 'dns-host and dns-port'],
  ['rate-limit', 'dns-rate-limit, dns-rate-slip and dns-rate-exempt'],
  ['server-id', 'dns-identity'],
  ['hostname', 'dns-identity'],
  ['dnstap', 'dnstap'],
  ['dnstap-output', 'dnstap'],
  ['dnstap-identity', 'dns-identity'],
  ['cookie-secret', 'cookie-secret'],
  ['http', 'doh-port, tls-cert and tls-key'],
  ['https-port', 'doh-port'],
]);

/** The note of one statement; undefined for those that are read. */
export function noteOf(statement: Clause): Note | undefined {
  const name = nameOf(statement);
  const { place } = statement;
  const written = describe(statement);
  if (name === 'dnssec-policy' && blockOf(statement)) {
    return {
      kind: 'none',
      place,
      text: `${written}: the keys stay as they are; new ones are made as this service does it`,
    };
  }
  if (READ.has(name)) return undefined;
  if (SELF.has(name)) return { kind: 'self', place, text: `${written}: not needed here` };
  if (RESOLVER.has(name))
    return { kind: 'resolver', place, text: `${written}: this server answers for its own zones only` };
  if (OF_VIEWS.has(name)) return { kind: 'none', place, text: `${written}: all clients get the same answers here` };
  const setting = SETTINGS.get(name);
  if (setting !== undefined) return { kind: 'setting', place, text: `${written}: the settings here are ${setting}` };
  return { kind: 'none', place, text: `${written}: no equivalent` };
}

/** The statement in short. */
function describe(statement: Clause): string {
  const first = statement.parts[0];
  const values = mayBeSecret(nameOf(statement)) ? [] : wordsOf(statement).map(({ text }) => text);
  const shown = [isWord(first) ? first.text : '', ...values, ...(blockOf(statement) ? ['{ … }'] : [])].join(' ');
  return shown.length > 80 ? `${shown.slice(0, 79)}…` : shown;
}
