/**
 * Measures what the rules of a zone cost a request that none of them matches, nanoseconds, and the ratio to what one request costs
 * anyway: its head read from octets and its fields for the origin made. Ratios are of one run.
 */
import { originHeaders } from '../src/edge/proxy/headers.js';
import { changedHeaders, redirectBy, rewrittenTarget } from '../src/rulesets/apply.js';
import { pageRuleOf } from '../src/rulesets/page-rule.js';
import { Subject } from '../src/rulesets/subject.js';
import { compileZone } from '../src/rulesets/zone-rules.js';
import { median } from './median.js';
import type { Figures } from './writes.js';

const RULES = 100;
const ROUNDS = 15;
const REQUESTS = 20_000;

/** As they are written: names, paths, prefixes, patterns of whole URLs, and conditions of several parts. */
const EXPRESSIONS: readonly ((i: number) => string)[] = [
  (i) => `http.host eq "old${i}.example.com"`,
  (i) => `http.request.uri.path eq "/page/${i}"`,
  (i) => `starts_with(http.request.uri.path, "/section${i}/")`,
  (i) => `http.request.full_uri wildcard "https://www.example.com/files${i}/*"`,
  (i) => `http.host eq "www.example.com" and http.request.uri.path contains "/old${i}/" and not ssl`,
  (i) => `lower(http.request.uri.path) eq "/Page/${i}" or http.request.uri.query contains "ref=${i}"`,
];

const SURROUNDINGS = { zone: 'example.com', nowMs: () => 0, country: () => undefined };
const HEADERS = [
  ...[
    'host',
    'www.example.com',
    'user-agent',
    'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  ],
  ...['accept', 'text/html,application/xhtml+xml', 'accept-language', 'en', 'accept-encoding', 'gzip, br'],
];

export async function measureRules(): Promise<Figures> {
  const from_value = { target_url: { value: 'https://www.example.net/' } };
  const list = Array.from({ length: RULES }, (_, i) => ({
    ...{ id: String(i), ref: String(i), version: '1', last_updated: 0, enabled: true, action: 'redirect' },
    ...{ expression: EXPRESSIONS[i % EXPRESSIONS.length]!(i), action_parameters: { from_value } },
  }));
  const rules = compileZone([{ phase: 'http_request_dynamic_redirect', rules: JSON.stringify(list) }])!;
  let matched = 0;
  const request = (i: number) => ({
    ...{ ray: 'a', method: 'GET', scheme: 'https' as const, host: 'www.example.com', authority: 'www.example.com' },
    ...{ target: `/shop/article/${i}.html?id=${i}`, httpVersion: '1.1' as const, headers: [...HEADERS] },
    ...{ client: '192.0.2.1', network: '192.0.2.1', body: undefined, bodyLength: undefined },
  });
  const ruled = (i: number): void => {
    const subject = new Subject(request(i), SURROUNDINGS);
    if (redirectBy(rules, subject) || pageRuleOf(rules.pages, subject)) matched++;
    if (rewrittenTarget(rules, subject) !== subject.target) matched++;
    if (changedHeaders(rules.requestHeaders, subject, HEADERS) !== HEADERS) matched++;
  };
  const plain = (i: number): void => {
    matched += originHeaders(request(i), { loopId: 'zoneplane', keepsUnderscores: false }).headers.length > 0 ? 0 : 1;
  };
  const rounds = Array.from({ length: ROUNDS }, () => [nanoseconds(ruled), nanoseconds(plain)] as const);
  const ofRules = median(rounds.map(([first]) => first));
  const ofHeads = median(rounds.map(([, second]) => second));
  if (matched > 0) throw new Error('a rule matched');
  return {
    [`${RULES} rules that do not match, ns`]: ofRules,
    'fields for the origin, ns': ofHeads,
    'ratio of both': ofRules / ofHeads,
  };
}

/** Of one call: CPU time, which others on the machine do not lengthen by making it wait. */
function nanoseconds(work: (i: number) => void): number {
  const before = process.cpuUsage();
  for (let i = 0; i < REQUESTS; i++) work(i);
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / REQUESTS;
}
