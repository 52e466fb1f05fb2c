/** What rules do with any request: nothing that ends a line, and nothing that reaches another rule, host or field than it says. */
import fc from 'fast-check';
import t from 'tap';
import { changedHeaders, redirectBy, rewrittenTarget } from '../../src/rulesets/apply.js';
import { RuleFault } from '../../src/rulesets/fault.js';
import { faultOfHeader } from '../../src/rulesets/header-names.js';
import { pageRuleOf, readPageRule } from '../../src/rulesets/page-rule.js';
import { readRule } from '../../src/rulesets/rule.js';
import { type RuleRequest, Subject } from '../../src/rulesets/subject.js';
import { tryRules } from '../../src/rulesets/try.js';
import { compileZone } from '../../src/rulesets/zone-rules.js';

const SURROUNDINGS = { zone: 'example.com', nowMs: () => 1_700_000_000_000, country: () => 'DE' };
const REQUEST: RuleRequest = {
  ...{ ray: 'abc', method: 'GET', scheme: 'https', host: 'www.example.com', target: '/a/b.HTML?x=1&x=2' },
  ...{
    httpVersion: '1.1',
    client: '192.0.2.7',
    headers: ['cookie', 'a=1; b=2', 'user-agent', 'test', 'x', '1', 'x', '2'],
  },
};

function zoneOf(phase: string, expression: string, action_parameters: object) {
  const action = phase === 'http_request_dynamic_redirect' ? 'redirect' : 'rewrite';
  const rule = {
    id: 'r',
    version: '1',
    last_updated: 1,
    ref: 'r',
    enabled: true,
    action,
    expression,
    action_parameters,
  };
  return compileZone([{ phase, rules: JSON.stringify([rule]) }])!;
}

const subjectOf = (change: Partial<RuleRequest> = {}) => new Subject({ ...REQUEST, ...change }, SURROUNDINGS);

t.test('fields', async (t) => {
  const holds = (expression: string): boolean => {
    const rules = zoneOf('http_request_dynamic_redirect', expression, { from_value: { target_url: { value: '/' } } });
    return redirectBy(rules, subjectOf()) !== undefined;
  };
  for (const expression of [
    'http.host eq "www.example.com"',
    'http.request.uri eq "/a/b.HTML?x=1&x=2"',
    'http.request.uri.path eq "/a/b.HTML"',
    'http.request.uri.path.extension eq "html"',
    'http.request.uri.query eq "x=1&x=2"',
    'http.request.full_uri eq "https://www.example.com/a/b.HTML?x=1&x=2"',
    'all(http.request.uri.args["x"][*] in {"1" "2"})',
    'http.request.cookies["b"][0] eq "2"',
    'http.request.headers["X"][1] eq "2"',
    'http.user_agent eq "test" and http.request.version eq "HTTP/1.1" and ssl',
    'ip.src in {192.0.2.0/24} and ip.src.country eq "DE" and ip.geoip.country in {"DE"}',
    'http.request.timestamp.sec eq 1700000000 and cf.zone.name eq "example.com" and cf.ray_id eq "abc"',
  ]) {
    t.ok(holds(expression), expression);
    t.notOk(holds(`not (${expression})`), expression);
  }
});

/** Rules that are alike. */
function manyRules(phase: string, expression: string, action_parameters: object, count = 300) {
  const action = phase === 'http_request_dynamic_redirect' ? 'redirect' : 'rewrite';
  const rule = { id: 'r', version: '1', last_updated: 1, ref: 'r', enabled: true, action, expression };
  const rules = new Array(count).fill({ ...rule, action_parameters });
  return compileZone([{ phase, rules: JSON.stringify(rules) }])!;
}

t.test('work that grows with the length of a request is counted', async (t) => {
  const to = (target_url: object) => ({ from_value: { target_url } });
  const repeated = (expression: string) => new Array(30).fill(expression).join(' or ');
  const long = 'a'.repeat(8000);
  const path = { target: `/${long}` };
  const agent = (text: string) => ({ headers: ['user-agent', text] });
  for (const [name, expression, change] of [
    ['an extension', 'http.request.uri.path.extension eq "b"', path],
    ['a URI that is made', 'raw.http.request.full_uri in {"a"}', path],
    ['lines that are joined', 'http.cookie eq "b"', { headers: ['cookie', long, 'cookie', long] }],
    ['an address that is printed', 'to_string(ip.src) eq "b"', {}],
    ['a list of texts', 'raw.http.request.uri.query in {"b"}', { target: `/?${long}` }],
  ] as const) {
    const rules = manyRules('http_request_dynamic_redirect', repeated(expression), to({ value: '/' }));
    t.throws(() => redirectBy(rules, subjectOf(change)), /too long/, name);
  }
  const part = `${'a'.repeat(20)}b${'a'.repeat(3500)}`;
  const search = `http.user_agent strict wildcard "*${part}*"`;
  const searches = manyRules('http_request_dynamic_redirect', search, to({ value: '/' }), 100);
  t.throws(() => redirectBy(searches, subjectOf(agent(long))), /too long/, 'a long part of a pattern');
  const mixed = '\u00e9a'.repeat(4000);
  const dynamic = { expression: 'concat("/", http.user_agent)' };
  const redirects = manyRules('http_request_dynamic_redirect', 'true', to(dynamic));
  t.equal(
    redirectBy(redirects, subjectOf(agent(`${mixed}${mixed}`))),
    undefined,
    'nothing longer than a URL is escaped',
  );
  const uri = { uri: { path: dynamic } };
  const rewrites = manyRules('http_request_transform', 'true', uri);
  t.throws(() => rewrittenTarget(rewrites, subjectOf(agent(mixed))), /too long/, 'escapes');
  t.equal(rewrittenTarget(rewrites, subjectOf(agent(`${mixed}${mixed}`))), REQUEST.target, 'too long');
});

t.test('rules make no more fields than a connection should hold', async (t) => {
  const long = 'a'.repeat(4000);
  const headers = { 'x-long': { operation: 'add', expression: 'http.user_agent' } };
  const rules = manyRules('http_response_headers_transform', 'true', { headers });
  const change = (text: string) =>
    changedHeaders(rules.responseHeaders, subjectOf({ headers: ['user-agent', text] }), []);
  t.throws(() => change(long), /too many fields/);
  t.equal(change('a').length, 600);
});

t.test('a trial of rules follows redirects within the work of one request', async (t) => {
  const costly = `${'url_decode('.repeat(8)}http.request.uri${', "r")'.repeat(8)} ne ""`;
  const rules = zoneOf('http_request_dynamic_redirect', `http.request.timestamp.sec gt 0 and ${costly}`, {
    from_value: { target_url: { expression: 'concat(http.request.uri, "a")' } },
  });
  let asked = 0;
  const surroundings = { ...SURROUNDINGS, nowMs: () => ++asked * 1000 };
  const target = `/${'a'.repeat(1000)}`;
  const trial = tryRules(
    { rules, surroundings, usesHttps: false },
    { ...REQUEST, target },
    { status: 200, headers: [] },
  );
  t.ok(trial.redirect && !trial.isLoop);
  t.ok(asked > 1 && asked < 6, `${asked} requests`);
});

t.test('a page rule makes no location that is longer than a URL may be', async (t) => {
  const url = `https://x.example/${'$1'.repeat(8000)}`;
  const targets = [{ target: 'url', constraint: { operator: 'matches', value: '*/*' } }];
  const actions = [{ id: 'forwarding_url', value: { url: url.replaceAll('$1', '$2'), status_code: 301 } }];
  const rule = { id: 'p', priority: 1, status: 'active', targets, actions };
  const { pages } = compileZone([{ phase: 'page_rules', rules: JSON.stringify([rule]) }])!;
  const before = process.memoryUsage().heapUsed;
  const found = pageRuleOf(pages, subjectOf({ target: `/${'a'.repeat(8000)}` }));
  t.ok(found && found.location === undefined);
  t.ok(process.memoryUsage().heapUsed - before < 32_000_000, 'nor does it write it down');
});

t.test('no request puts more into a line than it should', async () => {
  const dynamic = { expression: 'url_decode(http.request.uri, "ru")' };
  const redirects = zoneOf('http_request_dynamic_redirect', 'true', { from_value: { target_url: dynamic } });
  const rewrites = zoneOf('http_request_transform', 'true', { uri: { path: dynamic, query: dynamic } });
  const headers = zoneOf('http_request_late_transform', 'true', {
    headers: { 'x-a': { operation: 'set', ...dynamic }, 'x-b': { operation: 'add', ...dynamic } },
  });
  const piece = fc.oneof(
    fc.constantFrom('%0d', '%0a', '%00', '%23', '%3f', '//', '\\', '%u000d', '%25', '%c3%a9', 'javascript:', '@', ' '),
    fc.string({ maxLength: 4 }),
  );
  const targets = fc.array(piece, { maxLength: 12 }).map((pieces) => `/${pieces.join('')}`);
  fc.assert(
    fc.property(targets, (target) => {
      const { location = '/' } = redirectBy(redirects, subjectOf({ target })) ?? {};
      const rewritten = rewrittenTarget(rewrites, subjectOf({ target }));
      const changed = changedHeaders(headers.requestHeaders, subjectOf({ target }), ['x-a', 'old']);
      const isSafe = (text: string): boolean => /^[\x20-\x7e]*$/.test(text);
      return (
        /^[\x21-\x7e]*$/.test(location) &&
        /^(?:https?:\/\/|\/(?![/\\]))/i.test(location) &&
        (rewritten === target || /^\/[\x21\x22\x24-\x7e]*$/.test(rewritten)) &&
        changed.length % 2 === 0 &&
        changed.every(isSafe)
      );
    }),
    { numRuns: 500, seed: 7 },
  );
});

t.test('each rule sees the request as it was, and later rules win', async (t) => {
  const rule = (id: string, expression: string, action_parameters: object) => ({
    ...{ id, version: '1', last_updated: 1, ref: id, enabled: true, action: 'rewrite', expression, action_parameters },
  });
  const set = (value: string) => ({ headers: { x: { operation: 'set', value } } });
  const list = [
    rule('1', 'true', set('a')),
    rule('2', 'http.request.headers["x"][0] eq "a"', set('b')),
    rule('3', 'http.request.headers["x"][0] eq "1"', { headers: { x: { operation: 'add', value: 'c' } } }),
    { ...rule('4', 'true', set('d')), enabled: false },
  ];
  const { requestHeaders } = compileZone([{ phase: 'http_request_late_transform', rules: JSON.stringify(list) }])!;
  const told: string[] = [];
  const headers = changedHeaders(requestHeaders, subjectOf(), ['x', '1', 'y', '2'], ({ id }) => told.push(id));
  t.strictSame(headers, ['y', '2', 'x', 'a', 'x', 'c']);
  t.strictSame(told, ['1', '3']);
  const untouched = ['y', '2'];
  t.equal(changedHeaders([], subjectOf(), untouched), untouched, 'the same list when nothing matches');
  t.equal(compileZone([{ phase: 'http_request_late_transform', rules: JSON.stringify([list[3]]) }]), undefined);
});

t.test('names of fields that no rule changes', async (t) => {
  for (const name of [
    'host',
    'content-length',
    'transfer-encoding',
    'te',
    'connection',
    'upgrade',
    'cf-ray',
    'cf_ray',
    'x-cf-y',
    'x-forwarded-for',
    'x.forwarded.for',
    'sec-websocket-key',
    '',
    'a:b',
    'a\r\nb',
    'é',
  ]) {
    for (const operation of ['set', 'add', 'remove'] as const) t.ok(faultOfHeader('request', operation, name), name);
  }
  t.equal(faultOfHeader('request', 'remove', 'cookie'), undefined);
  t.equal(faultOfHeader('response', 'add', 'set-cookie'), undefined);
  t.ok(faultOfHeader('request', 'set', 'x-forwarded-host'));
});

t.test('page rules that are not understood', async (t) => {
  const read = (change: object) =>
    readPageRule(
      {
        targets: [{ target: 'url', constraint: { operator: 'matches', value: 'example.com/*' } }],
        actions: [{ id: 'forwarding_url', value: { url: 'https://example.net/$1', status_code: 301 } }],
        status: 'active',
        ...change,
      },
      1,
      (name, value) => (name === 'ssl' && value === 'full' ? value : undefined),
    );
  t.match(read({}), { priority: 1, status: 'active' });
  const target = (value: string, operator = 'matches') => ({
    targets: [{ target: 'url', constraint: { operator, value } }],
  });
  const forward = (url: string, status_code = 301) => ({
    actions: [{ id: 'forwarding_url', value: { url, status_code } }],
  });
  const cases: readonly (readonly [object, string])[] = [
    [{ targets: [] }, '/targets'],
    [target('example.com/*', 'contains'), '/targets/0/constraint/operator'],
    [target('example.com/**'), '/targets/0/constraint/value'],
    [target('*a*b*c*d*e'), '/targets/0/constraint/value'],
    [target('a b'), '/targets/0/constraint/value'],
    [forward('https://example.net/$2'), '/actions/0/value/url'],
    [forward('javascript:alert(1)'), '/actions/0/value/url'],
    [forward('https://a\r\nb'), '/actions/0/value/url'],
    [forward('/', 307), '/actions/0/value/status_code'],
    [{ actions: [] }, '/actions'],
    [{ actions: [{ id: 'edge_cache_ttl', value: 1 }] }, '/actions/0/id'],
    [{ actions: [{ id: 'ssl', value: 'maybe' }] }, '/actions/0/value'],
    [{ actions: [...forward('/').actions, { id: 'ssl', value: 'full' }] }, '/actions'],
    [{ priority: 0 }, '/priority'],
    [{ status: 'paused' }, '/status'],
    [{ note: 1 }, '/note'],
  ];
  for (const [change, pointer] of cases) {
    try {
      read(change);
      t.fail(JSON.stringify(change));
    } catch (error) {
      t.ok(error instanceof RuleFault, String(error));
      t.equal((error as RuleFault).pointer, pointer);
    }
  }
});

t.test('a stored page rule that this program does not understand is left out, and no other', (t) => {
  const rule = (id: string, value: string, action: object) => ({
    ...{ id, priority: 1, status: 'active', actions: [action] },
    targets: [{ target: 'url', constraint: { operator: 'matches', value } }],
  });
  const leads = (url: string, status_code = 301) => ({ id: 'forwarding_url', value: { url, status_code } });
  const rules = [
    rule('pattern', 'example.com/**', leads('https://example.net/')),
    rule('stars', '*a*b*c*d*e', leads('https://example.net/')),
    rule('template', 'example.com/*', leads('https://example.net/$2')),
    rule('status', 'example.com/*', leads('https://example.net/', 307)),
    rule('action', 'example.com/*', { id: 'under_attack', value: 'on' }),
    { ...rule('target', '', leads('https://example.net/')), targets: [{ target: 'host' }] },
    rule('plain', '*/*', { id: 'ssl', value: 'full' }),
  ];
  const { pages } = compileZone([{ phase: 'page_rules', rules: JSON.stringify(rules) }])!;
  t.strictSame(
    pages.map(({ id }) => id),
    ['plain'],
  );
  t.end();
});

t.test('any JSON is a rule or a fault', async (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      for (const input of [a, { action: 'rewrite', expression: 'true', action_parameters: { headers: b } }]) {
        try {
          readRule('http_request_late_transform', input);
        } catch (error) {
          if (!(error instanceof RuleFault)) throw error;
        }
      }
    }),
    { seed: 7 },
  );
  t.pass();
});
