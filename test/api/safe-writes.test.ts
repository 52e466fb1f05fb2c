/** Dry runs of writes (`?dry_run=true`), and conditional writes (RFC 9110 §13.1). */
import type { HTTPMethods } from 'fastify';
import t from 'tap';
import type { SqlValue } from '../../src/store/driver.js';
import { type Installation, install } from './installation.js';

type Write = readonly [method: HTTPMethods, path: string, body?: unknown];

/** Everything a write could leave behind. */
function stateOf({ store }: Installation): unknown {
  const tables = store
    .prepareTuples<[], [string]>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
    .all();
  return tables.map(([table]) => [table, store.prepare(`SELECT * FROM "${table}"`).all()]);
}

function withDryRun(path: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}dry_run=true`;
}

/** Without what is new in every run. */
function lasting(json: unknown): unknown {
  const text = JSON.stringify(json, (name, value) =>
    /^(diff|timing|id|.*_on|verification_key|hold_after)$/.test(name) ? undefined : value,
  );
  return JSON.parse(text);
}

const FORM = 'content-disposition: form-data; name="file"';

t.test("a dry run returns the write's answer with the difference, and leaves nothing behind", async (t) => {
  const installation = await install(t);
  const { call, createZone, misfits } = installation;
  const zone = await createZone('example.com');
  const add = async (body: object): Promise<string> =>
    (await call('POST', `/zones/${zone}/dns_records`, body)).json.result.id;
  const www = await add({ type: 'A', name: 'www', content: '192.0.2.1', ttl: 300, comment: 'old' });
  await add({ type: 'A', name: 'web', content: '192.0.2.2', proxied: true });
  const alias = await add({ type: 'CNAME', name: 'alias', content: 'www.example.com', ttl: 300 });
  const records = `/zones/${zone}/dns_records`;
  const edge = ['web.example.com. 300 IN A 192.0.2.250', 'web.example.com. 300 IN AAAA 2001:db8::fa'];
  const cases: readonly (readonly [Write, removed: readonly string[], added: readonly string[], moves?: boolean])[] = [
    [['POST', records, { type: 'TXT', name: 'new', content: 'x', ttl: 60 }], [], ['new.example.com. 60 IN TXT "x"']],
    [
      ['PATCH', `${records}/${www}`, { content: '192.0.2.9' }],
      ['www.example.com. 300 IN A 192.0.2.1'],
      ['www.example.com. 300 IN A 192.0.2.9'],
    ],
    [['PATCH', `${records}/${www}`, { comment: 'new' }], [], [], false],
    [['PATCH', `${records}/${www}`, { comment: 'old' }], [], [], false],
    [
      ['PUT', `${records}/${www}`, { type: 'A', name: 'w2', content: '192.0.2.1', ttl: 300 }],
      ['www.example.com. 300 IN A 192.0.2.1'],
      ['w2.example.com. 300 IN A 192.0.2.1'],
    ],
    [['DELETE', `${records}/${alias}`], ['alias.example.com. 300 IN CNAME www.example.com.'], []],
    [
      [
        'POST',
        `${records}/batch`,
        {
          deletes: [{ id: alias }],
          posts: [
            { type: 'A', name: 'alias', content: '192.0.2.5', ttl: 60 },
            { type: 'AAAA', name: 'alias', content: '2001:db8::5', ttl: 60 },
          ],
        },
      ],
      ['alias.example.com. 300 IN CNAME www.example.com.'],
      ['alias.example.com. 60 IN A 192.0.2.5', 'alias.example.com. 60 IN AAAA 2001:db8::5'],
    ],
    [
      ['PATCH', `/zones/${zone}/dns_settings`, { ns_ttl: 600 }],
      ['example.com. 86400 IN NS ns1.dns.test.', 'example.com. 86400 IN NS ns2.dns.test.'],
      ['example.com. 600 IN NS ns1.dns.test.', 'example.com. 600 IN NS ns2.dns.test.'],
    ],
    [['PATCH', `/zones/${zone}/settings/http3`, { value: 'off' }], [], [], true],
    [['PATCH', `/zones/${zone}`, { paused: true }], edge, ['web.example.com. 300 IN A 192.0.2.2']],
    [['POST', `/zones/${zone}/hold?include_subdomains=true`], [], [], false],
    [['POST', `/zones/${zone}/purge_cache`, { purge_everything: true }], [], [], false],
    [['PUT', `/zones/${zone}/activation_check`], [], [], false],
  ];
  for (const [[method, path, body], removed, added, moves = true] of cases) {
    const name = `${method} ${path.replace(zone, 'ID')}`;
    const before = stateOf(installation);
    const dry = await call(method, withDryRun(path), body);
    t.equal(dry.status, 200, name);
    t.strictSame(stateOf(installation), before, `${name} leaves nothing`);
    t.strictSame(
      [dry.headers['zoneplane-change'], dry.headers['zoneplane-serial'], dry.headers['etag']],
      [undefined, undefined, undefined],
    );
    const { serial_from: from, serial_to: to, complete } = dry.json.diff;
    t.equal(complete, true);
    t.equal(to - from, moves ? 1 : 0, name);
    const isOther = (line: string): boolean => !/ IN (SOA|HTTPS) /.test(line);
    t.strictSame(dry.json.diff.removed.filter(isOther), removed, name);
    t.strictSame(dry.json.diff.added.filter(isOther), added, name);
    const soa = dry.json.diff.added.filter((line: string) => line.includes(' IN SOA '));
    t.equal(soa.length, moves ? 1 : 0);
    if (moves)
      t.match(soa[0], new RegExp(`^example\\.com\\. \\d+ IN SOA ns1\\.dns\\.test\\. dns\\.dns\\.test\\. ${to} `));
    const real = await call(method, path, body);
    t.strictSame(lasting(dry.json), lasting(real.json), `${name}: the same answer`);
    if (moves) t.equal(real.headers['zoneplane-serial'], String(to));
    // Back to where it was, for the next.
    if (moves || method !== 'PUT') await putBack(installation, before);
  }
  t.strictSame(misfits, []);
});

/** Restores all rows: the tables are as they were noted. */
async function putBack({ store }: Installation, state: unknown): Promise<void> {
  const noted = state as [string, Record<string, SqlValue>[]][];
  // What only this copy knows of itself is in `meta`; tables are listed with those first that others refer to.
  const isReferredTo = ([table]: readonly [string, unknown]): boolean => table === 'record_sets';
  const tables = noted
    .filter(([table]) => table !== 'meta' && !table.startsWith('sqlite_'))
    // Zones refer to a table that is younger than theirs.
    .sort((a, b) => Number(isReferredTo(b)) - Number(isReferredTo(a)));
  // Triggers fill these, also while the rows of others are restored.
  const triggered = ['edge_changes', 'account_usage'];
  const isTriggered = ([table]: readonly [string, unknown]): boolean => triggered.includes(table);
  const last = [...noted.filter(isTriggered), ...noted.filter(([table]) => table === 'sqlite_sequence')];
  await store.write(() => {
    const clear = (table: string) => store.prepare(`DELETE FROM "${table}"`).run();
    for (const [table] of [...tables].reverse()) clear(table);
    for (const [table, rows] of [...tables.filter((entry) => !isTriggered(entry)), ...last]) {
      if (last.some(([name]) => name === table)) clear(table);
      for (const row of rows) {
        const columns = Object.keys(row);
        store
          .prepare<SqlValue[]>(
            `INSERT INTO "${table}" (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})`,
          )
          .run(...Object.values(row));
      }
    }
  });
}

t.test('dry runs of whole zones and of imports', async (t) => {
  const installation = await install(t);
  const { call, createZone, misfits } = installation;
  // The use of the credential is noted, too.
  await call('GET', '/zones');
  const empty = stateOf(installation);
  const created = await call('POST', '/zones?dry_run=true', { name: 'example.com' });
  t.match(created, {
    status: 200,
    json: { result: { name: 'example.com', status: 'active' }, diff: { complete: true } },
  });
  t.equal(created.json.diff.serial_from, null);
  t.strictSame(created.json.diff.removed, []);
  t.match(created.json.diff.added, [/ IN SOA /, /^example\.com\. 86400 IN NS ns1/, / IN NS ns2/]);
  t.strictSame(stateOf(installation), empty);
  t.equal((await call('GET', `/zones/${created.json.result.id}`)).status, 404);
  const zone = await createZone('example.com');
  const form = { 'content-type': 'multipart/form-data; boundary=x' };
  const text = `--x\r\n${FORM}\r\n\r\nwww 300 IN A 192.0.2.1\r\nmail 300 IN A 192.0.2.2\r\n--x--\r\n`;
  const before = stateOf(installation);
  const dry = await call('POST', `/zones/${zone}/dns_records/import?dry_run=true`, undefined, { text, headers: form });
  t.match(dry.json.result, { recs_added: 2, total_records_parsed: 2 });
  t.match(dry.json.diff.added, [/ SOA /, /^www\.example\.com\. 300 IN A /, /^mail\.example\.com\. 300 IN A /]);
  t.strictSame(stateOf(installation), before);
  await call('POST', `/zones/${zone}/dns_records/import`, undefined, { text, headers: form });
  const full = stateOf(installation);
  const deleted = await call('DELETE', `/zones/${zone}?dry_run=true`);
  t.match(deleted, {
    status: 200,
    json: { result: { id: zone }, diff: { serial_to: null, added: [], complete: true } },
  });
  t.match(deleted.json.diff.removed, [/ SOA /, / NS /, / NS /, / A /, / A /]);
  t.strictSame(stateOf(installation), full);
  t.strictSame(misfits, []);
});

t.test('a dry run is refused like the write, and where it is not supported', async (t) => {
  const installation = await install(t);
  const { call, createZone, token } = installation;
  const zone = await createZone('example.com');
  await call('POST', `/zones/${zone}/dns_records`, { type: 'A', name: 'a', content: '192.0.2.1' });
  const before = stateOf(installation);
  const refused: readonly (readonly [Write, status: number, code: number])[] = [
    [['POST', `/zones/${zone}/dns_records`, { type: 'A', name: 'b', content: 'nonsense' }], 400, 9005],
    [['POST', `/zones/${zone}/dns_records`, { type: 'A', name: 'a', content: '192.0.2.1' }], 400, 81058],
    [['POST', `/zones/${zone}/dns_records`, { type: 'CNAME', name: 'a', content: 'x.test' }], 400, 81053],
    [['DELETE', `/zones/${zone}/dns_records/${'0'.repeat(32)}`], 404, 81044],
    [['POST', '/zones', { name: 'example.com' }], 400, 1061],
    [['DELETE', `/zones/${'0'.repeat(32)}`], 404, 1001],
  ];
  for (const [[method, path, body], status, code] of refused) {
    const { json, ...answer } = await call(method, withDryRun(path), body);
    t.match({ ...answer, json }, { status, json: { errors: [{ code }] } });
    t.notOk('diff' in json);
  }
  const odd = await call('POST', `/zones/${zone}/dns_records?dry_run=perhaps`, {
    type: 'A',
    name: 'c',
    content: '192.0.2.1',
  });
  t.match(odd, { status: 400, json: { errors: [{ code: 9207 }] } });
  for (const flag of ['dry_run', 'dry_run=', 'dry_run=1']) {
    const present = await call('POST', `/zones/${zone}/dns_records?${flag}`, {
      type: 'A',
      name: 'd',
      content: '192.0.2.1',
    });
    t.match(present, { status: 200, json: { diff: { complete: true } } }, flag);
  }
  t.match(await call('GET', `/zones/${zone}/dns_records?name=d.example.com`), {
    json: { result_info: { total_count: 0 } },
  });
  const reader = { headers: await token({ readOnly: true }) };
  const body = { type: 'A', name: 'c', content: '192.0.2.1' };
  t.match(await call('POST', `/zones/${zone}/dns_records?dry_run=true`, body, reader), { status: 403 });
  const afterToken = stateOf(installation);
  t.equal((await call('POST', `/zones/${zone}/dns_records?dry_run=false`, body)).status, 200, 'false is none');
  t.not(JSON.stringify(afterToken), JSON.stringify(before));
});

t.test('entity tags', async (t) => {
  const { call, createZone, misfits } = await install(t);
  const zone = await createZone('example.com');
  const made = await call('POST', `/zones/${zone}/dns_records`, { type: 'A', name: 'a', content: '192.0.2.1' });
  const record = `/zones/${zone}/dns_records/${made.json.result.id}`;
  const reads = [
    `/zones/${zone}`,
    `/zones/${zone}/dns_records`,
    record,
    `/zones/${zone}/dns_settings`,
    `/zones/${zone}/hold`,
  ];
  const tag = String(made.headers['etag']);
  t.match(tag, /^"[^"]+"$/, 'strong');
  for (const path of reads) {
    const fresh = await call('GET', path);
    t.equal(fresh.headers['etag'], tag, path);
    for (const known of [tag, `W/${tag}`, '*', `"other", ${tag}`, `"other",W/${tag} , "x"`]) {
      const same = await call('GET', path, undefined, { headers: { 'if-none-match': known } });
      t.strictSame([same.status, same.text, same.headers['etag']], [304, '', tag], `${path} ${known}`);
    }
    const other = await call('GET', path, undefined, { headers: { 'if-none-match': '"other"' } });
    t.strictSame([other.status, other.text], [200, fresh.text]);
    t.equal((await call('GET', path, undefined, { headers: { 'if-match': '"other"' } })).status, 412);
    t.equal((await call('GET', path, undefined, { headers: { 'if-match': tag } })).status, 200);
  }
  const gone = `/zones/${zone}/dns_records/${'0'.repeat(32)}`;
  const missing = await call('GET', gone, undefined, { headers: { 'if-none-match': '*' } });
  t.strictSame([missing.status, missing.headers['etag']], [404, undefined]);
  // Each of these changes the state, and so the tag.
  const writes: readonly Write[] = [
    ['PATCH', record, { comment: 'only for people' }],
    ['PATCH', record, { content: '192.0.2.2' }],
    ['PATCH', `/zones/${zone}/dns_settings`, { ns_ttl: 300 }],
    ['PATCH', `/zones/${zone}/settings/http3`, { value: 'off' }],
    ['PATCH', `/zones/${zone}`, { paused: true }],
    ['POST', `/zones/${zone}/hold`],
  ];
  let last = tag;
  for (const [method, path, body] of writes) {
    const stale = await call(method, path, body, { headers: { 'if-match': '"1-1"' } });
    t.match(stale, { status: 412, json: { result: null, success: false, errors: [{ code: 10412 }] } }, path);
    t.match(stale.json.errors[0].message, last, 'says what it is');
    t.equal(
      (await call(method, path, body, { headers: { 'if-match': `W/${last}` } })).status,
      412,
      'weak never matches',
    );
    t.equal((await call(method, path, body, { headers: { 'if-none-match': last } })).status, 412);
    t.equal((await call(method, path, body, { headers: { 'if-none-match': '*' } })).status, 412);
    t.equal((await call(method, path, body, { headers: { 'if-match': last.slice(1) } })).status, 400, 'unreadable');
    const dry = await call(method, withDryRun(path), body, { headers: { 'if-match': '"1-1"' } });
    t.equal(dry.status, 412, 'a dry run is refused the same way');
    t.equal((await call('GET', `/zones/${zone}`)).headers['etag'], last, 'nothing of it was done');
    const done = await call(method, path, body, { headers: { 'if-match': `"x", ${last}` } });
    t.equal(done.status, 200, path);
    t.not(done.headers['etag'], last);
    last = String(done.headers['etag']);
    t.equal((await call('GET', record)).headers['etag'], last, 'the tag of the answer is that of the state');
  }
  t.equal((await call('PATCH', record, { ttl: 300 }, { headers: { 'if-match': '*' } })).status, 200, 'any state');
  t.equal((await call('DELETE', `/zones/${zone}`, undefined, { headers: { 'if-match': last } })).status, 412);
  t.strictSame(misfits, []);
});

t.test('one of twenty writers with the same condition wins', async (t) => {
  const { call, createZone } = await install(t);
  const zone = await createZone('example.com');
  const made = await call('POST', `/zones/${zone}/dns_records`, { type: 'A', name: 'a', content: '192.0.2.1' });
  const record = `/zones/${zone}/dns_records/${made.json.result.id}`;
  for (let round = 0; round < 5; round++) {
    const tag = String((await call('GET', record)).headers['etag']);
    const headers = { 'if-match': tag };
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => call('PATCH', record, { content: `198.51.${round}.${i}` }, { headers })),
    );
    const winners = answers.filter(({ status }) => status === 200);
    t.equal(winners.length, 1);
    t.equal(answers.filter(({ status }) => status === 412).length, 19);
    t.equal((await call('GET', record)).json.result.content, winners[0]!.json.result.content);
  }
});
