/** History of zones: every past state that is kept can be read and restored. */
import Database from 'better-sqlite3';
import t from 'tap';
import { importZone } from '../../src/control/imports/zone.js';
import { pruneEdits } from '../../src/store/log/edits.js';
import { seededRandom } from '../support/seeded-random.js';
import { type Installation, install } from './installation.js';

// biome-ignore lint/suspicious/noExplicitAny: records are looked into freely
type Json = any;

async function recordsOf({ call }: Installation, zone: string, query = ''): Promise<Json[]> {
  const { status, json, text } = await call('GET', `/zones/${zone}/dns_records?per_page=5000${query}`);
  if (status !== 200) throw new Error(text);
  return json.result;
}

interface Noted {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly time: string;
  readonly version: number;
  readonly serial: string;
  readonly records: Json[];
}

t.test('every state of a zone, by change, serial, version and time', async (t) => {
  const installation = await install(t);
  const { call, clock, createZone, misfits } = installation;
  const zone = await createZone('example.com');
  const records = `/zones/${zone}/dns_records`;
  const chance = seededRandom(5);
  const pick = (most: number): number => chance.bytes(1)[0]! % most;
  const states: Noted[] = [];
  for (let step = 0; step < 80; step++) {
    const now = await recordsOf(installation, zone);
    const some = now[pick(Math.max(1, now.length))]?.id;
    const add = { type: 'A', name: `h${pick(20)}`, content: `192.0.2.${pick(250)}`, ttl: 300, tags: [`n:${step}`] };
    const kind = now.length < 3 ? 0 : pick(7);
    const done =
      kind <= 1
        ? await call('POST', records, add)
        : kind === 2
          ? await call('DELETE', `${records}/${some}`)
          : kind === 3
            ? await call('PATCH', `${records}/${some}`, { content: `198.51.100.${pick(250)}` })
            : kind === 4
              ? await call('PATCH', `${records}/${some}`, { comment: `step ${step}` })
              : kind === 5
                ? await call('PUT', `${records}/${some}`, { type: 'TXT', name: `t${step}`, content: `"x ${step}"` })
                : await call('POST', `${records}/batch`, {
                    deletes: [{ id: some }],
                    posts: [add, { type: 'MX', name: `m${step}`, content: 'mx.test', priority: 5 }],
                  });
    clock.advance(1000);
    if (done.status !== 200) continue;
    const [version, serial] = String(done.headers['etag']).slice(1, -1).split('-');
    const time = new Date(clock.nowMs()).toISOString();
    const { headers } = done;
    states.push({
      headers,
      time,
      version: Number(version),
      serial: serial!,
      records: await recordsOf(installation, zone),
    });
    clock.advance(1000);
  }
  t.ok(states.length > 50, `${states.length} states`);
  for (const { headers, time, version, serial, records: then } of states) {
    t.same(await recordsOf(installation, zone, `&as_of=${time}`), then, `as of ${time}`);
    t.same(await recordsOf(installation, zone, `&as_of=version:${version}`), then, `as of version ${version}`);
    const last = states.findLast((state) => state.serial === serial)!;
    t.same(await recordsOf(installation, zone, `&as_of=${serial}`), last.records, `as of serial ${serial}`);
    const change = headers['zoneplane-change'];
    if (change === undefined) continue;
    t.same(await recordsOf(installation, zone, `&as_of=${change}`), then, `as of change ${change}`);
  }
  // Another process holds the lock; who reads the past does not wait for it.
  const other = new Database(installation.store.path);
  other.exec('BEGIN IMMEDIATE');
  t.same(await recordsOf(installation, zone, `&as_of=${states[30]!.time}`), states[30]!.records);
  other.exec('ROLLBACK');
  other.close();
  const { json } = await call('GET', `${records}?as_of=${states[30]!.time}&type=A&per_page=2&order=content`);
  const addresses = states[30]!.records.filter(({ type }) => type === 'A');
  t.match(
    json.result_info,
    { total_count: addresses.length, count: 2, per_page: 2 },
    'filters and pages hold in the past',
  );
  const one = addresses[0]!;
  t.same((await call('GET', `${records}/${one.id}?as_of=${states[30]!.time}`)).json.result, one);

  const now = await recordsOf(installation, zone);
  const before = await call('GET', `/zones/${zone}`);
  for (const state of [states[10]!, states[45]!, states[3]!, states.at(-1)!]) {
    const path = `/zones/${zone}/history/version:${state.version}/restore`;
    const dry = await call('POST', `${path}?dry_run=true`);
    t.equal(dry.json.diff.serial_to - dry.json.diff.serial_from, 1);
    const restored = await call('POST', path);
    t.equal(restored.status, 200);
    t.match(dry.json.result, restored.json.result);
    t.equal(String(dry.json.diff.serial_to), restored.headers['zoneplane-serial']);
    t.same(await recordsOf(installation, zone), state.records, `restored to version ${state.version}`);
    const [newest] = (await call('GET', `/zones/${zone}/history?per_page=1`)).json.result;
    t.same(newest.diff.added.sort(), dry.json.diff.added.sort(), 'history shows the difference the dry run showed');
    t.same(newest.diff.removed.sort(), dry.json.diff.removed.sort());
  }
  t.same(await recordsOf(installation, zone), now, 'back again');
  t.not((await call('GET', `/zones/${zone}`)).headers['etag'], before.headers['etag']);
  const again = await call(
    'POST',
    `/zones/${zone}/history/${(await call('GET', `/zones/${zone}/history`)).json.result[0].id}/restore`,
  );
  t.match(again.json.result, { records_added: 0, records_removed: 0, records_changed: 0 });
  t.equal(again.headers['zoneplane-change'], undefined, 'nothing to do is not a change');
  t.strictSame(misfits, []);
});

t.test('the list shows who did what', async (t) => {
  const installation = await install(t);
  const { call, createZone, token, misfits } = installation;
  const zone = await createZone('example.com');
  const path = `/zones/${zone}/history`;
  const headers = await token();
  const made = await call(
    'POST',
    `/zones/${zone}/dns_records`,
    { type: 'A', name: 'a', content: '192.0.2.1', ttl: 60 },
    { headers },
  );
  const record = `/zones/${zone}/dns_records/${made.json.result.id}`;
  await call('PATCH', record, { comment: 'seen by nobody' });
  const moved = await call('PATCH', record, { content: '192.0.2.2' });
  await call('PATCH', `/zones/${zone}/dns_settings`, { soa: { refresh: 7200 } });
  await call('PATCH', record, { content: 'refused' });
  await call('PATCH', `${record}?dry_run=true`, { content: '192.0.2.3' });
  const { json } = await call('GET', path);
  t.match(json.result_info, { page: 1, per_page: 20, count: 5, total_count: 5, total_pages: 1 });
  const [settings, content, comment, creation, zoneCreation] = json.result;
  t.match(settings, {
    kind: 'settings',
    diff: { removed: [/ SOA .* 10000 2400 /], added: [/ SOA .* 7200 2400 /], complete: true },
  });
  t.match(content, {
    id: moved.headers['zoneplane-change'],
    kind: 'records',
    actor: { email: 'admin@localhost', type: 'key' },
    source: 'api',
    request_id: moved.headers['x-request-id'],
    serial_to: Number(moved.headers['zoneplane-serial']),
    diff: {
      removed: [/ SOA /, 'a.example.com. 60 IN A 192.0.2.1'],
      added: [/ SOA /, 'a.example.com. 60 IN A 192.0.2.2'],
      complete: true,
    },
  });
  t.equal(content.serial_to, content.serial_from + 1);
  t.match(comment, {
    id: `version:${comment.version}`,
    change: null,
    diff: { removed: [], added: [], complete: true },
  });
  t.match(creation, { actor: { type: 'token' }, diff: { added: [/ SOA /, 'a.example.com. 60 IN A 192.0.2.1'] } });
  t.match(zoneCreation, { kind: 'added', serial_from: null, change: 1, diff: { complete: false } });
  t.strictSame((await call('GET', `${path}/${content.id}`)).json.result, content);
  t.strictSame((await call('GET', `${path}/${comment.id}`)).json.result, comment);
  const second = await call('GET', `${path}?page=2&per_page=2`);
  t.strictSame(second.json.result, [comment, creation]);
  t.match(second.json.result_info, { page: 2, per_page: 2, count: 2, total_count: 5, total_pages: 3 });
  t.strictSame((await call('GET', `${path}?page=9`)).json.result, []);
  t.strictSame(misfits, []);
});

t.test('states that are not kept, and names of no state', async (t) => {
  const installation = await install(t);
  const { call, clock, createZone, operator, store, misfits } = installation;
  await createZone('other.test');
  clock.advance(60_000);
  const zone = await createZone('example.com');
  const records = `/zones/${zone}/dns_records`;
  const refused = async (asOf: string, status: number, code: number, text: RegExp) => {
    const { json, ...answer } = await call('GET', `${records}?as_of=${encodeURIComponent(asOf)}`);
    t.match({ ...answer, json }, { status, json: { errors: [{ code, message: text }] } }, asOf);
  };
  for (const bad of ['yesterday', '2024-13-01T00:00:00Z', 'change:x', '-1', 'zone:1', '2024-05-05']) {
    await refused(bad, 400, 9207, /does not name a past state/);
  }
  await refused('2024-05-05T12:00:30Z', 404, 10410, /^The zone was created at 2024-05-05T12:01:00Z/);
  await refused('change:1', 404, 10410, /had no change 1 since/);
  await refused('77', 404, 10410, /had no serial or change 77/);
  await refused('version:99', 404, 10410, /had no version 99/);
  t.same(await recordsOf(installation, zone, '&as_of=2099-01-01T00:00:00Z'), [], 'the future is now');
  const made = await call('POST', records, { type: 'A', name: 'a', content: '192.0.2.1' });
  const change = made.headers['zoneplane-change'];
  t.equal((await call('POST', `/zones/${zone}/history/${change}x/restore`)).status, 400);
  t.equal((await call('POST', `/zones/${zone}/history/999/restore`)).status, 404);
  t.equal((await call('GET', `/zones/${zone}/history/999`)).status, 404);
  t.equal((await call('POST', `/zones/${'0'.repeat(32)}/history/1/restore`)).status, 404);
  // A whole zone file in its place: what was there is not kept one by one.
  const text = '$ORIGIN example.com.\n$TTL 300\n@ SOA ns h 5 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n';
  clock.advance(5000);
  t.equal((await importZone(operator, { source: { text }, replace: true })).imported, true);
  await refused(String(change), 404, 10410, /^All records were replaced at 2024-05-05T12:01:05Z/);
  const imported = await recordsOf(installation, zone);
  await call('POST', records, { type: 'A', name: 'b', content: '192.0.2.2' });
  t.same(await recordsOf(installation, zone, '&as_of=serial:5'), imported, 'after it every state is there again');
  t.same(await recordsOf(installation, zone, '&as_of=5'), imported);
  // Old edits are removed; what is left still stands.
  clock.advance(5000);
  const last = await call('POST', records, { type: 'A', name: 'c', content: '192.0.2.3' });
  const kept = await recordsOf(installation, zone);
  const removed = await call('DELETE', `${records}/${last.json.result.id}`);
  await store.write(() => pruneEdits(store, 2, clock.nowUs() + 8 * 86_400_000_000));
  t.same(await recordsOf(installation, zone, `&as_of=change:${last.headers['zoneplane-change']}`), kept);
  t.equal(
    (await recordsOf(installation, zone, `&as_of=change:${removed.headers['zoneplane-change']}`)).length,
    kept.length - 1,
  );
  await refused('serial:5', 404, 10410, /had no serial 5 since 2024-05-05T12:01:05Z, the start of its kept history/);
  await refused('2024-05-05T12:01:01Z', 404, 10410, /^History is kept from 2024-05-05T12:01:05Z on/);
  const { json } = await call('GET', `/zones/${zone}/history`);
  t.equal(json.result.length, 2);
  t.strictSame(misfits, []);
});

t.test('readers of the zone see its history, and writers restore it', async (t) => {
  const installation = await install(t);
  const { call, createZone, token } = installation;
  const zone = await createZone('example.com');
  const other = await createZone('example.net');
  const made = await call('POST', `/zones/${zone}/dns_records`, { type: 'A', name: 'a', content: '192.0.2.1' });
  const change = made.headers['zoneplane-change'];
  const stranger = { headers: await token({ zoneIds: [other] }) };
  const reader = { headers: await token({ readOnly: true }) };
  for (const path of ['history', `history/${change}`, `changes/${change}`, `dns_records?as_of=${change}`]) {
    t.match(await call('GET', `/zones/${zone}/${path}`, undefined, stranger), { status: 403 }, path);
    t.match(await call('GET', `/zones/${zone}/${path}`, undefined, reader), { status: 200 }, path);
    t.match(await call('GET', `/zones/${other}/${path.replace('history?', '')}`, undefined, stranger), {
      status: path === 'history' ? 200 : 404,
    });
  }
  for (const who of [stranger, reader]) {
    t.match(await call('POST', `/zones/${zone}/history/${change}/restore`, undefined, who), { status: 403 });
  }
  const { headers } = await call('GET', `/zones/${zone}`);
  const stale = { headers: { 'if-match': '"1-1"' } };
  t.match(await call('POST', `/zones/${zone}/history/1/restore`, undefined, stale), { status: 412 });
  const fresh = { headers: { 'if-match': String(headers['etag']) } };
  t.match(await call('POST', `/zones/${zone}/history/1/restore`, undefined, fresh), {
    status: 200,
    json: { result: { records_removed: 1 } },
  });
});

t.test('what happened to the zone as a whole', async (t) => {
  const { call, createZone } = await install(t);
  const zone = await createZone('example.com');
  const done = async (method: string, path: string, body?: unknown): Promise<Json> => {
    const { status, text } = await call(method, `/zones/${zone}${path}`, body);
    if (status !== 200) throw new Error(text);
    const { json } = await call('GET', `/zones/${zone}/history?per_page=1`);
    return [json.result[0].kind, json.result[0].event];
  };
  t.same(await done('POST', '/dns_records', { type: 'A', name: 'www', content: '192.0.2.1' }), ['records', null]);
  t.same(await done('PATCH', '/dnssec', { status: 'active' }), ['settings', 'signed']);
  t.same(await done('PATCH', '', { paused: true }), ['settings', null], 'no record was edited');
});
