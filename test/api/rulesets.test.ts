/**
 * Rulesets by the vendor's SDK, and by the sequences of requests of DNSControl and of Terraform's cloudflare_ruleset, as their sources
 * make them; what is refused, and who may do what.
 */
import Cloudflare from 'cloudflare';
import t from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { latestEvents } from '../support/rows.js';
import { install } from './installation.js';
import { sent } from './sdk-fetch.js';

const REDIRECTS = 'http_request_dynamic_redirect';
const redirect = (expression: string, to: string) => ({
  action: 'redirect' as const,
  expression,
  action_parameters: { from_value: { status_code: 301 as const, target_url: { value: to } } },
});
const OLD = redirect('http.host eq "old.example.com"', 'https://www.example.com/');

interface Ruleset {
  readonly id: string;
  readonly rules: readonly { readonly id: string; readonly ref: string }[];
}

type Call = (...args: unknown[]) => Promise<Ruleset>;

/** What is called of the SDK; its own types of answers are unknown. */
interface Calls extends Readonly<Record<'create' | 'get' | 'update' | 'delete', Call>> {
  readonly list: (...args: unknown[]) => AsyncIterable<Ruleset>;
  readonly rules: Readonly<Record<'create' | 'edit' | 'delete', Call>>;
  readonly phases: Readonly<Record<'get' | 'update', Call>>;
  readonly versions: Readonly<Record<'get' | 'delete', Call>> & {
    readonly list: (...args: unknown[]) => AsyncIterable<Ruleset>;
  };
}

/** One installation for the file; each test has a zone of its own. */
const installation = install(t);
let zones = 0;

async function world() {
  const installed = await installation;
  zones += 1;
  const zone = await installed.createZone(`example${zones}.com`);
  const entrypoint = `/zones/${zone}/rulesets/phases/${REDIRECTS}/entrypoint`;
  const headers = await installed.token({});
  const client = new Cloudflare({
    apiToken: headers.authorization.slice(7),
    baseURL: 'http://api.test/client/v4',
    maxRetries: 0,
    fetch: (url, init) => sent(installed, String(url), init),
  });
  const rulesets = client.rulesets as unknown as Calls;
  return { ...installed, zone, entrypoint, rulesets };
}

t.test('the SDK: sets, rules in order, versions', async (t) => {
  const { rulesets, zone: zone_id, misfits } = await world();
  await t.rejects(rulesets.phases.get(REDIRECTS, { zone_id }), /404/);
  const made = await rulesets.create({ zone_id, kind: 'zone', name: 'mine', phase: REDIRECTS, rules: [OLD] });
  t.match(made, { kind: 'zone', name: 'mine', phase: REDIRECTS, version: '1' });
  t.match(made.rules, [{ ...OLD, enabled: true, version: '1' }]);
  t.equal(made.rules[0]!.ref, made.rules[0]!.id, 'the reference of a rule is its id by default');
  t.strictSame(await rulesets.get(made.id, { zone_id }), made);
  t.strictSame(await rulesets.phases.get(REDIRECTS, { zone_id }), made);
  const listed: unknown[] = [];
  for await (const one of rulesets.list({ zone_id })) listed.push(one);
  const { rules: _, ...shown } = made;
  t.strictSame(listed, [shown]);
  await t.rejects(rulesets.create({ zone_id, kind: 'zone', name: 'again', phase: REDIRECTS }), /20217/);

  const refs = ({ rules }: Ruleset): string[] => rules.map(({ ref }) => ref);
  const first = made.rules[0]!.id;
  const add = (ref: string, position?: object) =>
    rulesets.rules.create(made.id, { zone_id, ...OLD, ref, ...(position && { position }) });
  t.strictSame(refs(await add('end')), [first, 'end']);
  t.strictSame(refs(await add('start', { before: '' })), ['start', first, 'end']);
  t.strictSame(refs(await add('third', { index: 3 })), ['start', first, 'third', 'end']);
  const after = await add('after', { after: first });
  t.strictSame(refs(after), ['start', first, 'after', 'third', 'end']);
  const last = after.rules.at(-1)!.id;
  const edit = (rule: string, members: object) =>
    rulesets.rules.edit(rule, { zone_id, ruleset_id: made.id, ...members });
  t.strictSame(refs(await edit(last, { position: { before: first } })), ['start', 'end', first, 'after', 'third']);
  const disabled = await edit(last, { enabled: false, description: 'off', logging: { enabled: true } });
  const changed = disabled.rules[1]!;
  t.match(changed, { ...OLD, enabled: false, description: 'off', logging: { enabled: true }, version: '2' });
  const again = await edit(last, { enabled: false });
  t.strictSame(again, disabled, 'what changes nothing makes no version');
  t.strictSame(refs(await rulesets.rules.delete(last, { zone_id, ruleset_id: made.id })), [
    ...['start', first, 'after', 'third'],
  ]);

  const update = await rulesets.update(made.id, { zone_id, rules: [{ ...OLD, ref: 'third' }, OLD] });
  t.match(update, { version: '9', name: 'mine' });
  t.equal(update.rules[0]!.id, after.rules[3]!.id, 'a rule is known by its reference');
  t.match(await rulesets.versions.get('9', { zone_id, ruleset_id: made.id }), { version: '9' });
  await t.rejects(rulesets.versions.get('1', { zone_id, ruleset_id: made.id }), /only the current one, 9/);
  await t.rejects(rulesets.versions.delete('9', { zone_id, ruleset_id: made.id }), /deleted with the ruleset/);
  const versions: unknown[] = [];
  for await (const one of rulesets.versions.list(made.id, { zone_id })) versions.push(one);
  t.match(versions, [{ version: '9' }]);
  await rulesets.delete(made.id, { zone_id });
  await t.rejects(rulesets.get(made.id, { zone_id }), /404/);
  t.strictSame(misfits, []);
});

t.test('dry runs, preconditions, history', async (t) => {
  const { call, entrypoint } = await world();
  const tried = await call('PUT', `${entrypoint}?dry_run=true`, { rules: [OLD] });
  t.match(tried, { status: 200, json: { result: { version: '1', rules: [OLD] } } });
  t.equal((await call('GET', entrypoint)).status, 404, 'nothing was stored');
  const made = await call('PUT', entrypoint, { rules: [OLD] });
  const tag = made.headers.etag as string;
  t.equal((await call('GET', entrypoint)).headers.etag, tag);
  const other = { rules: [redirect('true', '/x')] };
  const stale = await call('PUT', entrypoint, other, { headers: { 'if-match': '"never"' } });
  t.match(stale, { status: 412, json: { errors: [{ code: 1116 }] } });
  t.equal((await call('PUT', entrypoint, other, { headers: { 'if-match': tag } })).status, 200);
  t.equal((await call('PUT', entrypoint, other, { headers: { 'if-match': tag } })).status, 412);
  const absent = entrypoint.replace(REDIRECTS, 'http_request_transform');
  t.equal((await call('PUT', absent, {}, { headers: { 'if-match': '*' } })).status, 412, 'there is none');
});

t.test("DNSControl's sequence", async (t) => {
  const { call, entrypoint, zone } = await world();
  t.match(await call('GET', entrypoint), { status: 404, json: { errors: [{ code: 10003 }] } });
  // As cloudflare-go writes a new rule, and behind it those that it read.
  const rule = (name: string, when: string, then: string) => ({
    action: 'redirect',
    action_parameters: {
      from_value: { status_code: 301, target_url: { expression: then }, preserve_query_string: true },
    },
    expression: when,
    description: name,
  });
  const conversions = [
    rule('1', 'http.host eq "i.example.com" and http.request.uri.path eq "/"', 'concat("https://example.org/", "")'),
    rule('2', 'http.host eq "img.example.com"', 'concat("https://example.org", http.request.uri.path)'),
    rule(
      '3',
      '( http.host eq "help.example.com" or ends_with(http.host, ".help.example.com") ) and http.request.uri.path eq "/a"',
      'concat("https://example.org/a", "")',
    ),
    rule(
      '4',
      '(starts_with(http.request.uri.path, "/.well-known") and http.host eq "example.com")',
      'concat("https://social.example.org", http.request.uri.path)',
    ),
  ];
  let rules: object[] = [];
  for (const one of conversions) {
    const put = await call('PUT', entrypoint, { description: '', rules: [...rules, one] });
    t.equal(put.status, 200, put.text);
    rules = put.json.result.rules;
  }
  const { id, rules: read } = (await call('GET', entrypoint)).json.result;
  t.strictSame(
    read.map(({ description }: { description: string }) => description),
    ['1', '2', '3', '4'],
  );
  const gone = await call('DELETE', `/zones/${zone}/rulesets/${id}/rules/${read[1].id}`);
  t.equal(gone.status, 200);
  t.ok(gone.text.includes('"success": true,'), 'by which it recognises that it succeeded');
  t.equal(gone.json.result.rules.length, 3);
});

t.test("Terraform's sequence", async (t) => {
  const { call, zone } = await world();
  const base = `/zones/${zone}/rulesets`;
  const plan = {
    ...{ kind: 'zone', name: 'headers', phase: 'http_request_late_transform', description: '' },
    rules: [
      {
        ...{ action: 'rewrite', expression: 'true', description: 'set', enabled: true, ref: 'set_it' },
        action_parameters: {
          headers: {
            'X-Static': { operation: 'set', value: 'a' },
            'x-dynamic': { operation: 'add', expression: 'http.request.headers["user-agent"][0]' },
            'x-gone': { operation: 'remove' },
          },
        },
      },
    ],
  };
  // The provider 5 tries the plan first.
  t.equal((await call('POST', `${base}?dry_run=true`, plan)).status, 200);
  const made = await call('POST', base, plan);
  t.match(made, { status: 200, json: { result: plan } });
  const { id, rules } = made.json.result;
  t.strictSame((await call('GET', `${base}/${id}`)).json.result, made.json.result, 'an empty plan');
  const update = { ...plan, rules: [{ ...plan.rules[0], id: rules[0].id, enabled: false }] };
  const updated = (await call('PUT', `${base}/${id}`, update)).json.result;
  t.match(updated, { id, version: '2', rules: [{ id: rules[0].id, ref: 'set_it', enabled: false, version: '2' }] });
  const deleted = await call('DELETE', `${base}/${id}`);
  t.match(deleted, { status: 204, text: '' });
  t.equal((await call('GET', `${base}/${id}`)).status, 404);
});

t.test('what is not understood is refused, with its place', async (t) => {
  const { call, zone, misfits } = await world();
  const put = (phase: string, rule: object) =>
    call('PUT', `/zones/${zone}/rulesets/phases/${phase}/entrypoint`, { rules: [rule] });
  const value = (from: object) => ({ ...OLD, action_parameters: { from_value: from } });
  const rewrite = (parameters: object) => ({ action: 'rewrite', expression: 'true', action_parameters: parameters });
  const header = (name: string, change: object) => rewrite({ headers: { [name]: change } });
  const set = { operation: 'set', value: 'a' };
  const cases: readonly (readonly [string, object, string, RegExp])[] = [
    ['http_request_origin', OLD, '', /'http_request_origin' is not part of this service/],
    ['http_request_firewall_custom', OLD, '', /not part of this service/],
    [REDIRECTS, { ...OLD, action: 'block' }, '/action', /must be redirect/],
    [REDIRECTS, { ...OLD, ratelimit: {} }, '/ratelimit', /'ratelimit' is not available/],
    [REDIRECTS, { ...OLD, id: 'a'.repeat(32) }, '/id', /no rule 'aaa/],
    [REDIRECTS, { ...OLD, expression: '' }, '/expression', /true matches all/],
    [
      REDIRECTS,
      { ...OLD, expression: 'http.response.code eq 200' },
      '/expression',
      /'http.response.code' is not known at offset 0/,
    ],
    [REDIRECTS, { ...OLD, expression: 'http.host matches "a"' }, '/expression', /'matches' is not available/],
    [REDIRECTS, { ...OLD, expression: '('.repeat(40) }, '/expression', /32 levels/],
    [REDIRECTS, { ...OLD, action_parameters: undefined }, '/action_parameters', /are required/],
    [
      REDIRECTS,
      { ...OLD, action_parameters: { from_list: {} } },
      '/action_parameters/from_list',
      /'from_list' is not available/,
    ],
    [
      REDIRECTS,
      value({ target_url: { value: 'javascript:alert(1)' } }),
      '/action_parameters/from_value/target_url/value',
      /http:\/\//,
    ],
    [
      REDIRECTS,
      value({ target_url: { value: '//evil.example' } }),
      '/action_parameters/from_value/target_url/value',
      /neither/,
    ],
    [
      REDIRECTS,
      value({ target_url: { value: 'https://a\r\nset-cookie: b' } }),
      '/action_parameters/from_value/target_url/value',
      /neither spaces/,
    ],
    [
      REDIRECTS,
      value({ target_url: { value: '/', expression: '"/"' } }),
      '/action_parameters/from_value/target_url',
      /either/,
    ],
    [
      REDIRECTS,
      value({ target_url: { expression: 'regex_replace(http.host, "a", "b")' } }),
      '/action_parameters/from_value/target_url/expression',
      /'regex_replace' is not available/,
    ],
    [
      REDIRECTS,
      value({ target_url: { expression: 'ssl' } }),
      '/action_parameters/from_value/target_url/expression',
      /not a text/,
    ],
    [
      REDIRECTS,
      value({ target_url: { value: '/?a' }, preserve_query_string: true }),
      '/action_parameters/from_value/target_url/value',
      /has a query/,
    ],
    [
      REDIRECTS,
      value({ target_url: { value: '/' }, status_code: 200 }),
      '/action_parameters/from_value/status_code',
      /301/,
    ],
    ['http_request_transform', rewrite({ headers: {} }), '/action_parameters/headers', /not available/],
    ['http_request_transform', rewrite({ uri: {} }), '/action_parameters/uri', /a path or a query/],
    [
      'http_request_transform',
      rewrite({ uri: { path: { value: 'x' } } }),
      '/action_parameters/uri/path/value',
      /begin with \//,
    ],
    [
      'http_request_transform',
      rewrite({ uri: { path: { value: '/a?b' } } }),
      '/action_parameters/uri/path/value',
      /neither \? nor #/,
    ],
    [
      'http_request_transform',
      rewrite({ uri: { path: { value: '/' }, origin: false } }),
      '/action_parameters/uri/origin',
      /always/,
    ],
    ...[
      'Host',
      'content-length',
      'Transfer-Encoding',
      'Connection',
      'cf-connecting-ip',
      'CF_Ray',
      'x-forwarded-for',
      'x_forwarded_proto',
      'cookie',
      'range',
    ].map(
      (name) =>
        ['http_request_late_transform', header(name, set), `/action_parameters/headers/${name}`, /set of/] as const,
    ),
    ...['content-length', 'transfer-encoding', 'content-encoding', 'cf-ray', 'server'].map(
      (name) =>
        ['http_response_headers_transform', header(name, set), `/action_parameters/headers/${name}`, /set of/] as const,
    ),
    ['http_request_late_transform', header('a b', set), '/action_parameters/headers/a b', /not the name/],
    [
      'http_request_late_transform',
      header('x', { ...set, value: 'a\r\nb: c' }),
      '/action_parameters/headers/x/value',
      /line breaks/,
    ],
    ['http_request_late_transform', header('x', { ...set, value: 'é' }), '/action_parameters/headers/x/value', /ASCII/],
    [
      'http_request_late_transform',
      header('x', { ...set, value: 'a\0' }),
      '/action_parameters/headers/x/value',
      /printable/,
    ],
    [
      'http_request_late_transform',
      header('x', { operation: 'append', value: 'a' }),
      '/action_parameters/headers/x/operation',
      /set, add or remove/,
    ],
    [
      'http_request_late_transform',
      header('x', { operation: 'remove', value: 'a' }),
      '/action_parameters/headers/x/value',
      /not available/,
    ],
    ['http_request_late_transform', rewrite({ headers: { x: set, X: set } }), '/action_parameters/headers', /twice/],
  ];
  for (const [phase, rule, at, reason] of cases) {
    const { status, json } = await put(phase, rule);
    t.equal(status, 400, `${phase} ${JSON.stringify(rule)}`);
    t.match(json.errors[0].message, reason);
    if (at !== '') t.equal(json.errors[0].source.pointer, `/rules/0${at}`);
  }
  const many = (count: number) => Array.from({ length: count }, () => OLD);
  const all = (rules: object[]) => call('PUT', `/zones/${zone}/rulesets/phases/${REDIRECTS}/entrypoint`, { rules });
  t.match(await all(many(301)), { status: 403, json: { errors: [{ message: /at most 300 rules/ }] } });
  t.equal((await all(many(300))).status, 200);
  const more = await put('http_request_transform', rewrite({ uri: { path: { value: '/' } } }));
  t.equal(more.status, 403, 'those of all phases count');
  const long = { ...OLD, expression: `http.host eq "${'a'.repeat(4000)}"` };
  t.match(await all(Array.from({ length: 70 }, () => long)), {
    status: 403,
    json: { errors: [{ message: /octets/ }] },
  });
  t.strictSame(misfits, []);
});

t.test('other tenants, and tokens for some of it', async (t) => {
  const { call, entrypoint, zone, operator, token } = await world();
  const { id } = (await call('PUT', entrypoint, { rules: [OLD] })).json.result;
  await createAccount(operator, { name: 'Other', members: ['other@example.org'] });
  const other = { headers: await token({ email: 'other@example.org' }) };
  const one = `/zones/${zone}/rulesets/${id}`;
  for (const [method, path] of [
    ...(['GET', 'PUT', 'DELETE'] as const).map((method) => [method, one] as const),
    ...(['GET', 'PUT'] as const).map((method) => [method, entrypoint] as const),
    ['POST', `${one}/rules`] as const,
  ]) {
    const body = method === 'GET' || method === 'DELETE' ? undefined : {};
    t.match(
      await call(method, path, body, other),
      { status: 404, json: { errors: [{ code: 1001 }] } },
      `${method} ${path}`,
    );
  }
  const theirs = (await call('POST', '/zones', { name: 'theirs.test' }, other)).json.result.id;
  t.equal(
    (await call('GET', `/zones/${theirs}/rulesets/${id}`, undefined, other)).status,
    404,
    'not through another zone',
  );

  const resources = { [`com.cloudflare.api.account.zone.${zone}`]: '*' } as const;
  const withGroup = async (group: string) => ({
    headers: await token({ policies: [{ effect: 'allow', permission_groups: [{ id: group }], resources }] }),
  });
  const transforms = await withGroup('0ac90a90249747bca6b047d97f0803e9');
  t.equal((await call('PUT', entrypoint, { rules: [] }, transforms)).status, 403);
  t.equal((await call('GET', entrypoint, undefined, transforms)).status, 403);
  t.strictSame((await call('GET', `/zones/${zone}/rulesets`, undefined, transforms)).json.result, []);
  const late = entrypoint.replace(REDIRECTS, 'http_request_late_transform');
  t.equal((await call('PUT', late, { rules: [] }, transforms)).status, 200);
  const reading = await withGroup('d8e12db741544d1586ec1d6f5d3c7786');
  t.equal((await call('GET', entrypoint, undefined, reading)).status, 200);
  t.equal((await call('PUT', entrypoint, { rules: [] }, reading)).status, 403);
});

t.test('events say what was done, without secrets', async (t) => {
  const { call, entrypoint, store } = await world();
  const late = entrypoint.replace(REDIRECTS, 'http_request_late_transform');
  const headers = {
    'X-Api-Key': { operation: 'set', value: 's3cret' },
    'x-plain': { operation: 'set', value: 'shown' },
  };
  const rules = [{ action: 'rewrite', expression: 'true', action_parameters: { headers } }];
  t.equal((await call('PUT', late, { rules })).status, 200);
  const [event] = latestEvents(store, 1);
  t.match(event, { kind: 'ruleset.create' });
  t.match(JSON.stringify(event), /shown/);
  t.notMatch(JSON.stringify(event), /s3cret/);
  const many = Array.from({ length: 100 }, () => redirect(`http.host in {"${'a'.repeat(1000)}"}`, '/'));
  t.equal((await call('PUT', entrypoint, { rules: [OLD, ...many] })).status, 200);
  const [long] = latestEvents(store, 1);
  const octets = JSON.stringify(long).length;
  t.ok(octets < 40_000, `an event of many rules takes ${octets} octets`);
  t.match(JSON.stringify(long), /old\.example\.com/, 'what is short is shown');
  t.match(JSON.stringify(long), /omitted/);
});

t.test('trying the rules of a zone', async (t) => {
  const { call, entrypoint, zone, token, misfits } = await world();
  const put = (phase: string, rules: object[]) => call('PUT', entrypoint.replace(REDIRECTS, phase), { rules });
  const asked = (url: string, more = '') =>
    call('GET', `/zones/${zone}/rulesets/try?url=${encodeURIComponent(url)}${more}`);
  const nothing = { applied: [], redirect: null, loops: false, target: '/a?b' };
  t.match((await asked('http://www.example.com/a?b')).json.result, nothing);
  const expression = 'concat("https://www.example.org", http.request.uri.path)';
  const from_value = { status_code: 302, target_url: { expression }, preserve_query_string: true };
  await put(REDIRECTS, [
    {
      action: 'redirect',
      expression: 'http.host eq "old.example.com" and ip.src.country eq "DE"',
      description: 'old',
      action_parameters: { from_value },
    },
    redirect('http.request.uri.path eq "/x"', '/y'),
    redirect('http.request.uri.path eq "/y"', 'http://www.example.com/x'),
  ]);
  const set = { operation: 'set', value: '1' };
  const rewrite = (action_parameters: object) => [{ action: 'rewrite', expression: 'true', action_parameters }];
  await put('http_request_transform', rewrite({ uri: { path: { value: '/new' } } }));
  await put('http_request_late_transform', rewrite({ headers: { 'x-b': set, 'x-a': { operation: 'remove' } } }));
  await put('http_response_headers_transform', rewrite({ headers: { 'x-r': set } }));
  const moved = (await asked('http://old.example.com/a?b', '&country=de')).json.result;
  t.match(moved, {
    ...{ redirect: { status: 302, location: 'https://www.example.org/a?b' }, loops: false },
    applied: [{ phase: REDIRECTS, description: 'old' }, { phase: 'http_response_headers_transform' }],
    response_headers: [{ name: 'location' }, { name: 'x-r', value: '1' }],
  });
  const passed = (await asked('https://www.example.com/a?b', '&header=X-A:%20z')).json.result;
  t.match(passed, { redirect: null, target: '/new?b' });
  t.strictSame(passed.request_headers, [
    ...[
      { name: 'host', value: 'www.example.com' },
      { name: 'x-b', value: '1' },
    ],
  ]);
  t.match((await asked('http://www.example.com/x')).json.result, { redirect: { location: '/y' }, loops: true });
  for (const [query, pointer] of [
    ['url=ftp://a', '/url'],
    ['url=http://a&client=b', '/client'],
    ['url=http://a&header=b', '/header'],
  ]) {
    const { status, json } = await call('GET', `/zones/${zone}/rulesets/try?${query}`);
    t.match({ status, json }, { status: 400, json: { errors: [{ source: { pointer } }] } });
  }
  t.equal((await call('GET', `/zones/${zone}/rulesets/try?url=http://a&status=99`)).status, 400);
  const permission_groups = [{ id: 'd8e12db741544d1586ec1d6f5d3c7786' }];
  const resources = { [`com.cloudflare.api.account.zone.${zone}`]: '*' } as const;
  const headers = await token({ policies: [{ effect: 'allow', permission_groups, resources }] });
  const some = await call('GET', `/zones/${zone}/rulesets/try?url=http://a`, undefined, { headers });
  t.equal(some.status, 403, 'whoever may not read all rules must not learn about them');
  t.strictSame(misfits, []);
});

t.test('too many rules are not even read', async (t) => {
  const { call, entrypoint } = await world();
  const { status, json } = await call('PUT', entrypoint, { rules: new Array(301).fill({}) });
  t.equal(status, 403);
  t.match(json, { errors: [{ code: 20018 }] });
  const long = { ...OLD, description: 'a'.repeat(1000) };
  t.match((await call('PUT', entrypoint, { rules: new Array(290).fill(long) })).json, { errors: [{ code: 20019 }] });
});
