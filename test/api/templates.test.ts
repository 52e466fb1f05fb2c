/** Templates over the API: what they may be, what they do to zones, and what a stranger or a limited credential gets. */
import t from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { DNS_WRITE } from '../../src/control/guard/permissions.js';
import { applyTemplate } from '../../src/control/templates/apply.js';
import { latestEvents } from '../support/rows.js';
import { install } from './installation.js';

const ABSENT = '0123456789abcdef0123456789abcdef';
const world = await install(t, { activation: 'trust' });
const { call, createZone, token, operator, store, misfits } = world;
const account = (await call('GET', '/accounts')).json.result[0].id as string;
const templates = `/accounts/${account}/dns_templates`;
const [one, two] = [await createZone('one.test'), await createZone('two.test')];

const WEB = {
  name: 'web',
  description: 'A site and its mail',
  variables: [
    { name: 'ip', type: 'ipv4' },
    { name: 'host', type: 'label', default: 'www' },
    { name: 'note', type: 'text', default: 'v=spf1 -all' },
  ],
  records: [
    { type: 'A', name: '@', content: '{ip}', ttl: 300 },
    { type: 'CNAME', name: '{host}', content: '{zone}' },
    { type: 'TXT', name: '@', content: '{note}', tags: ['of:{host}'] },
    { type: 'MX', name: '@', content: 'mail.{zone}', priority: 10 },
  ],
};

const make = async (body: object) => (await call('POST', templates, body)).json.result;
const shown = async (zone: string): Promise<string[]> =>
  (await call('GET', `/zones/${zone}/dns_records`)).json.result
    .map(({ name, type, content }: Record<string, string>) => `${name} ${type} ${content}`)
    .sort();
const apply = async (id: string, body: object, headers = {}) =>
  call('POST', `${templates}/${id}/apply`, body, { headers });
const counts = (answer: { json: { result: Record<string, unknown>[] } }) =>
  answer.json.result.map(({ status, created, changed, deleted, unchanged, conflicts }) => {
    return [status, created, changed, deleted, unchanged, (conflicts as unknown[]).length];
  });

t.test('a template is previewed, applied, and applied again as a difference', async (t) => {
  const web = await make(WEB);
  t.match(web, { name: 'web', version: 1, variables: WEB.variables, records: WEB.records });
  const ip = '192.0.2.10';
  const preview = await apply(web.id, { zones: [one, two], values: { ip }, preview: true });
  t.strictSame(counts(preview), [
    ['preview', 4, 0, 0, 0, 0],
    ['preview', 4, 0, 0, 0, 0],
  ]);
  t.match(preview.json.result[0].changes[0], { action: 'create', after: { name: 'one.test', content: ip, ttl: 300 } });
  t.strictSame([await shown(one), latestEvents(store, 1)[0]!.kind], [[], 'dns_template.create'], 'nothing was done');
  t.strictSame(counts(await apply(web.id, { zones: [one, two], values: { ip } })), [
    ['applied', 4, 0, 0, 0, 0],
    ['applied', 4, 0, 0, 0, 0],
  ]);
  t.strictSame(await shown(two), [
    'two.test A 192.0.2.10',
    'two.test MX mail.two.test',
    'two.test TXT v=spf1 -all',
    'www.two.test CNAME two.test',
  ]);
  t.match(latestEvents(store, 5).find(({ kind }) => kind === 'dns_template.apply')!.name, 'web');
  t.strictSame(
    counts(await apply(web.id, {})),
    [
      ['unchanged', 0, 0, 0, 4, 0],
      ['unchanged', 0, 0, 0, 4, 0],
    ],
    'with the values of before',
  );

  const { id: mx } = (await call('GET', `/zones/${one}/dns_records?type=MX`)).json.result[0];
  const { id: cname } = (await call('GET', `/zones/${one}/dns_records?type=CNAME`)).json.result[0];
  await call('PATCH', `/zones/${one}/dns_records/${mx}`, { comment: 'mine' });
  await call('DELETE', `/zones/${one}/dns_records/${cname}`);
  await call('POST', `/zones/${two}/dns_records`, { type: 'A', name: 'api', content: '192.0.2.99', ttl: 60 });
  const records = [
    { ...WEB.records[0], ttl: 600 },
    WEB.records[1],
    { ...WEB.records[3], priority: 20 },
    { type: 'A', name: 'api', content: '192.0.2.99', ttl: 300 },
  ];
  const { headers, status } = await call(
    'PUT',
    `${templates}/${web.id}`,
    { ...WEB, records },
    { headers: { 'if-match': '"1"' } },
  );
  t.strictSame([status, headers['etag']], [200, '"2"']);
  const again = await apply(web.id, {});
  t.strictSame(counts(again), [
    // The TXT record goes, the A record changes; CNAME and MX were changed by hand, so the MX of before stays.
    ['applied', 2, 1, 1, 0, 2],
    // Another priority is another record of the same name; the address of others is left alone.
    ['applied', 1, 1, 2, 1, 1],
  ]);
  t.strictSame(
    again.json.result.map(({ conflicts }: { conflicts: { reason: string }[] }) =>
      conflicts.map(({ reason }) => reason).sort(),
    ),
    [['deleted', 'edited'], ['other']],
  );
  t.strictSame(
    await shown(one),
    [
      'api.one.test A 192.0.2.99',
      'one.test A 192.0.2.10',
      'one.test MX mail.one.test',
      'one.test MX mail.one.test',
    ].sort(),
  );
  const zones = (await call('GET', `${templates}/${web.id}/zones`)).json.result;
  t.match(zones, [{ id: one, name: 'one.test', version: 2, values: { ip } }, { id: two }]);
  const forced = await apply(web.id, { force: true });
  t.strictSame(
    counts(forced).map(([status, , , , , conflicts]) => [status, conflicts]),
    [
      ['applied', 0],
      ['applied', 0],
    ],
  );
  t.strictSame(
    counts(await apply(web.id, {})).map(([status]) => status),
    ['unchanged', 'unchanged'],
  );
  t.equal((await call('DELETE', `${templates}/${web.id}`)).status, 200);
  t.equal((await shown(one)).length, 4, 'the records stay');
});

t.test('what is not understood is refused, and values stay in their field', async (t) => {
  const refused = async (change: object): Promise<unknown[]> => {
    const { status, json } = await call('POST', templates, { ...WEB, name: 'bad', ...change });
    return [status, json.errors?.[0]?.source?.pointer];
  };
  const record = (change: object) => ({ records: [{ type: 'A', name: '@', content: '{ip}', ...change }] });
  for (const [change, pointer] of [
    [record({ content: '{nothing}' }), '/records/0/content'],
    [record({ content: '{ip' }), '/records/0/content'],
    [record({ name: '{note}' }), '/records/0/name'],
    [record({ name: '{ip}' }), '/records/0/name'],
    [record({ expires_on: '2030-01-01T00:00:00Z' }), '/records/0'],
    [record({ type: 'SOA' }), '/records/0/type'],
    [record({ data: { a: { b: 1 } } }), '/records/0/data'],
    [{ records: [] }, '/records'],
    [{ records: Array(201).fill(WEB.records[0]) }, '/records'],
    [{ variables: [{ name: 'zone', type: 'name' }] }, '/variables/0/name'],
    [{ variables: [{ name: 'a', type: 'float' }] }, '/variables/0/type'],
    [{ variables: [{ name: 'a', type: 'ipv4', default: '::1' }] }, '/variables/0/default'],
    [{ variables: [{ name: 'a', type: 'text', more: 1 }] }, '/variables/0'],
    [{ name: 'a\nb' }, '/name'],
    [{ owner: 'x' }, undefined],
  ] as const) {
    t.strictSame(await refused(change), [400, pointer], JSON.stringify(change).slice(0, 80));
  }
  const { id } = await make({
    name: 'fields',
    variables: [
      { name: 'word', type: 'text' },
      { name: 'label', type: 'label', default: 'a' },
      { name: 'host', type: 'name', default: 'b.test' },
      { name: 'count', type: 'integer', default: 5 },
    ],
    records: [
      { type: 'CAA', name: '{label}', content: '0 issue "{word}"' },
      { type: 'SRV', name: '_sip._tcp', content: '10 {count} 443 {host}' },
      { type: 'SVCB', name: 'dns', data: { priority: 1, target: '{host}', value: 'dohpath=/q{{?dns}}' } },
    ],
  });
  for (const [values, pointer] of [
    [{ word: 'ca.test"; issue' }, '/values/word'],
    [{ word: 'x\n@ A 192.0.2.1' }, '/values/word'],
    [{ word: 'two words' }, '/values/word'],
    [{ word: '\\"' }, '/values/word'],
    [{ word: 'ok', label: 'a.b' }, '/values/label'],
    [{ word: 'ok', label: '@' }, '/values/label'],
    [{ word: 'ok', host: 'b.test.' }, '/values/host'],
    [{ word: 'ok', host: 'b.test 1' }, '/values/host'],
    [{ word: 'ok', count: '5 6' }, '/values/count'],
    [{ word: 'ok', zone: 'evil.test' }, '/values/zone'],
    [{ word: 'ok', unknown: '1' }, '/values/unknown'],
    [{}, '/values/word'],
  ] as const) {
    const { status, json } = await apply(id, { zones: [two], values, preview: true });
    const errors = status === 200 ? json.result[0].errors : json.errors;
    t.equal(errors[0]?.source?.pointer, pointer, JSON.stringify(values));
  }
  const { json } = await apply(id, { zones: [two], values: { word: '{host}', count: 6 }, preview: true });
  t.strictSame(
    json.result[0].changes.map(({ after }: { after: { content: string } }) => after.content),
    ['0 issue "{host}"', '6 443 b.test', '1 b.test dohpath=/q{?dns}'],
    'values are not looked through for variables',
  );
});

t.test('changes that are not reported keep only their kind', async (t) => {
  const { id } = await make({ ...WEB, name: 'told' });
  const zones = [await createZone('told.test'), await createZone('more.test')];
  const input = { zones, values: { ip: '192.0.2.1' }, preview: true };
  const results = await applyTemplate(operator, account, id, input, 5);
  t.strictSame(
    results.map(({ difference }) => [
      Object.keys(difference!),
      difference!.changes.filter(({ after }) => after).length,
    ]),
    [
      [['changes', 'conflicts', 'unchanged'], 4],
      [['changes', 'conflicts', 'unchanged'], 1],
    ],
  );
  t.strictSame(results[1]!.difference!.changes.at(-1), { action: 'create' });
});

t.test('null means absent, and a short text does not become a very long one', async (t) => {
  const record = { type: 'TXT', name: '@', content: '{v}'.repeat(5000), comment: null };
  const variable = { name: 'v', type: 'text', default: 'x'.repeat(2048), description: null };
  const bomb = { name: 'bomb', description: null, variables: [variable], records: Array(16).fill(record) };
  const { id, description } = await make(bomb);
  t.equal(description, '');
  const { json } = await apply(id, { zones: [two], preview: true });
  t.match(json.result[0], { status: 'failed', errors: [{ error_chain: [{ message: /2097152 characters/ }] }] });
});

t.test('strangers, tenants, and credentials for some zones and records', async (t) => {
  const home = await createAccount(operator, { name: 'Other', members: ['other@example.org'] });
  const foreign = (await call('POST', '/zones', { name: 'foreign.test', account: { id: home.id } })).json.result
    .id as string;
  const { id: theirs } = (await call('POST', `/accounts/${home.id}/dns_templates`, { ...WEB, name: 'theirs' })).json
    .result;
  const { id } = await make({
    ...WEB,
    name: 'shared',
    records: [WEB.records[0], { type: 'TXT', name: '_acme.a', content: 'x' }],
  });
  const values = { ip: '192.0.2.1' };
  t.equal((await call('GET', `${templates}/${theirs}`)).status, 404, 'a template of another account');
  t.equal((await apply(theirs, { zones: [one], values })).status, 404);
  const other = await apply(id, { zones: [one, foreign, ABSENT], values, preview: true });
  t.strictSame(
    counts(other).map(([status]) => status),
    ['preview', 'failed', 'failed'],
    'a zone of another account',
  );
  const errorsOf = ({ errors, zone }: { errors: object[]; zone: { name: string | null } }) => [errors, zone.name];
  t.strictSame(errorsOf(other.json.result[1]), errorsOf(other.json.result[2]), 'as one that does not exist');

  const stranger = await token({ email: 'other@example.org' });
  for (const template of [id, ABSENT]) {
    const { status } = await apply(template, { zones: [foreign], values }, stranger);
    t.equal(status, 403, 'the templates of an account are for its members');
  }
  const policy = (zone: string, records?: object) => ({
    ...{ effect: 'allow', permission_groups: [{ id: DNS_WRITE }] },
    ...{ resources: { [`com.cloudflare.api.account.zone.${zone}`]: '*' }, ...(records && { records }) },
  });
  const ofTwo = await token({ policies: [policy(two)] as never });
  const before = await shown(one);
  const mixed = await apply(id, { zones: [one, two], values, force: true }, ofTwo);
  t.strictSame(
    counts(mixed).map(([status]) => status),
    ['failed', 'applied'],
  );
  t.match(mixed.json.result[0], { zone: { name: null }, changes: [], errors: [{ code: 10000 }] });
  t.strictSame(await shown(one), before, 'only its own zone is changed');
  t.match((await apply(id, { values }, ofTwo)).json.result, [{ zone: { name: 'two.test' } }]);
  for (const template of [id, ABSENT]) {
    t.match(
      (await apply(template, { zones: [one] }, ofTwo)).json.result,
      [{ status: 'failed' }],
      'no template is looked for',
    );
  }
  const unapplied = await make({ ...WEB, name: 'unapplied' });
  const answerTo = async (template: string, headers = {}) => {
    const { status, text } = await apply(template, { values: { unknown: 'x' } }, { ...ofTwo, ...headers });
    return [status, text];
  };
  const refused = await answerTo(ABSENT);
  t.equal(refused[0], 403);
  t.strictSame(await answerTo(unapplied.id), refused, 'whoever edits none of its zones learns nothing of it');
  t.strictSame(await answerTo(unapplied.id, { 'if-match': '"7"' }), refused);
  t.strictSame((await apply(unapplied.id, {})).json.result, [], 'whoever may edit all zones does');
  t.equal((await call('GET', templates, undefined, { headers: ofTwo })).status, 403);
  const ofAll = await token({ policies: [policy('*')] as never });
  t.equal((await call('GET', templates, undefined, { headers: ofAll })).status, 200, 'a credential for all zones');
  t.equal((await call('PUT', `${templates}/${id}`, { ...WEB, name: 'shared' }, { headers: ofAll })).status, 200);

  const ofTxt = await token({ policies: [policy(two, { names: ['_acme.*'], types: ['TXT'] })] as never });
  const scoped = await apply(id, { zones: [two], values, preview: true, force: true }, ofTxt);
  t.match(scoped.json.result, [{ status: 'failed', changes: [], conflicts: [], errors: [{ code: 10000 }] }]);
  t.notMatch(scoped.text, /192\.0\.2/, 'it learns nothing of other records');
  const alone = await make({ ...WEB, name: 'alone', records: [{ ...WEB.records[0], ttl: 900 }] });
  const seen = await apply(alone.id, { zones: [two], values, preview: true });
  t.match(seen.json.result, [{ status: 'preview', conflicts: [{ reason: 'other', record: { ttl: 300 } }] }]);
  const unseen = await apply(alone.id, { zones: [two], values, preview: true }, ofTxt);
  t.match(unseen.json.result, [{ status: 'failed', conflicts: [], errors: [{ code: 10000 }] }]);
  const reading = await token({ readOnly: true });
  t.not((await apply(id, { zones: [two], values }, reading)).json.result?.[0]?.status, 'applied');
});

t.test('one zone fails, the others get theirs', async (t) => {
  await call('POST', `/zones/${one}/dns_records`, { type: 'A', name: 'taken', content: '192.0.2.5' });
  const { id } = await make({ name: 'alias', records: [{ type: 'CNAME', name: 'taken', content: 'x.test' }] });
  const both = await apply(id, { zones: [one, two] });
  t.strictSame(
    counts(both).map(([status]) => status),
    ['failed', 'applied'],
  );
  t.match(both.json.result[0].errors[0].source, { pointer: '/records/0/name' });
  t.match(
    (await shown(one)).filter((line) => line.startsWith('taken')),
    ['taken.one.test A 192.0.2.5'],
  );
  const twice = await make({ name: 'twice', records: [WEB.records[3], WEB.records[3]] });
  t.match((await apply(twice.id, { zones: [one] })).text, /the same record as that at/);
  t.match(await call('POST', `${templates}/${id}/apply?dry_run=true`, { zones: [two] }), {
    status: 200,
    json: { diff: {} },
  });
});

t.test('YAML goes out and comes in again, and bombs do not go off', async (t) => {
  const { id } = await make({ ...WEB, name: 'yaml' });
  const { text, headers } = await call('GET', `${templates}/${id}/export`);
  t.match(headers['content-type'], /application\/yaml/);
  t.match(text, /^name: yaml\n.*content: "\{ip\}"/s);
  const put = (body: string, query = '') => call('POST', `${templates}/import${query}`, undefined, { text: body });
  t.equal((await put(text)).status, 400, 'there is one of this name');
  const back = await put(text, '?replace=true');
  t.match(back.json.result, { id, version: 2, variables: WEB.variables, records: WEB.records });
  t.match((await put(text.replace('name: yaml', 'name: copy'))).json.result, { version: 1 });
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
    .split('')
    .map((name, i) => `${name}: &${name} [${`*${'abcdefghi'[i]},`.repeat(9)}]`)
    .join('\n')}\n`;
  for (const [body, reason] of [
    [bomb, /aliases are not understood/],
    ['['.repeat(30_000), /is invalid|flow|deeper/i],
    [`name: x\nrecords: ${'['.repeat(50)}${']'.repeat(50)}`, /deeper than any member/],
    ['name: a\nname: b\nrecords: []', /unique/],
    ['name: !!js/function "x"\nrecords: []', /tag/i],
    ['- '.repeat(20_000), /deeper/],
    ['name: a\nrecords:\n  - {type: A, name: "@", content: 5}', /content: a text is expected/],
    ['__proto__: {name: x}\nrecords: []', /is not a member here/],
    ['x'.repeat(65 * 1024), /octets|large/i],
    ['', /an object is expected/],
    [Buffer.from([0xff, 0xfe]).toString('latin1'), /./],
  ] as const) {
    const answer = await put(body, '?replace=true');
    t.ok([400, 413].includes(answer.status), `${body.slice(0, 20)} ${answer.status}`);
    t.match(answer.text, reason);
  }
  t.strictSame(misfits, []);
});
