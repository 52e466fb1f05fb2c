/** The audit log over HTTP: its entries, who sees them, and its filters. */
import t from 'tap';
import { exportAudit } from '../../src/api/audit-logs/export.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { install } from './installation.js';

t.test('filters find actions, in pages', async (t) => {
  const { call, clock, createZone, token, operator, misfits } = await install(t);
  const zone = await createZone('example.com');
  await createZone('example.net');
  const account = (await call('GET', '/accounts')).json.result[0].id;
  const path = `/accounts/${account}/audit_logs`;
  const headers = await token();
  const body = { type: 'A', name: 'a', content: '192.0.2.1' };
  const made = await call('POST', `/zones/${zone}/dns_records`, body, { headers });
  const record = made.json.result.id;
  clock.advance(24 * 3_600_000);
  await call('PATCH', `/zones/${zone}/dns_records/${record}`, { content: '192.0.2.2' });
  await call('DELETE', `/zones/${zone}/dns_records/${record}`);
  await call('POST', `/zones/${zone}/dns_records?dry_run=true`, body);
  await call('POST', `/zones/${zone}/dns_records`, { ...body, content: 'refused' });
  const types = async (query: string, where = path): Promise<string[]> => {
    const { status, json, text } = await call('GET', `${where}?${query}`);
    if (status !== 200) throw new Error(text);
    return json.result.map((entry: { action: { type: string } }) => entry.action.type);
  };
  const all = await types('');
  t.strictSame(all.slice(0, 5), ['record.delete', 'record.edit', 'record.create', 'key.create', 'zone.create']);
  t.ok(all.includes('membership.create') && all.includes('account.create'));
  const { json } = await call('GET', `${path}?action.type=record.edit`);
  const [edit] = json.result;
  t.match(edit, {
    action: { type: 'record.edit', result: true },
    actor: { email: 'admin@localhost', ip: '127.0.0.1', type: 'user', id: /^[0-9a-f]{32}$/ },
    interface: 'API',
    metadata: { zone_id: zone, zone_name: 'example.com', credential: 'key', request_id: /^[0-9a-f]{32}$/ },
    owner: { id: account },
    resource: { id: record, type: 'record' },
    when: /^2024-05-06T12:00:00\.\d{6}Z$/,
    oldValueJson: { content: '192.0.2.1' },
    newValueJson: { content: '192.0.2.2' },
  });
  t.strictSame(JSON.parse(edit.newValue), edit.newValueJson);
  t.strictSame(await types('zone.name=EXAMPLE.net.'), ['zone.create']);
  t.strictSame(await types('since=2024-05-06'), ['record.delete', 'record.edit']);
  t.strictSame(await types('since=2024-05-06&direction=asc'), ['record.edit', 'record.delete']);
  t.strictSame((await types('before=2024-05-06'))[0], 'record.create');
  t.strictSame(await types(`since=2024-05-06T12:00:00Z&before=${edit.when}`), []);
  t.strictSame(await types(`id=${edit.id}`), ['record.edit']);
  t.strictSame(await types('actor.email=ADMIN@localhost&action.type=record.create'), ['record.create']);
  t.strictSame(await types('actor.email=nobody@localhost'), []);
  t.strictSame((await types('actor.ip=127.0.0.1')).length > 3, true);
  t.strictSame(await types('actor.ip=192.0.2.99'), []);
  t.strictSame(
    await types('since=2024-05-06', '/user/audit_logs'),
    ['record.delete', 'record.edit'],
    'as the user sees it',
  );
  const second = await call('GET', `${path}?page=2&per_page=2`);
  t.strictSame(
    second.json.result.map(({ action }: { action: { type: string } }) => action.type),
    all.slice(2, 4),
  );
  t.match(second.json.result_info, { page: 2, per_page: 2, count: 2, total_count: all.length });
  t.strictSame(await types('page=99'), []);
  t.match(await call('GET', `${path}?since=yesterday`), { status: 400, json: { errors: [{ code: 9207 }] } });

  const events = `/accounts/${account}/logs/audit`;
  const descriptions = async (query: string): Promise<string[]> => {
    const answer = await call('GET', `${events}?since=2024-01-01&before=2030-01-01&${query}`);
    return answer.json.result.map((event: { action: { description: string } }) => event.action.description);
  };
  t.strictSame(await descriptions('action_type=update'), ['record.edit']);
  t.strictSame(await descriptions('action_type.not=create&resource_type=record'), ['record.delete', 'record.edit']);
  t.strictSame(await descriptions(`zone_id.not=${zone}&resource_type=zone`), ['zone.create']);
  t.strictSame(await descriptions(`resource_id=${record}&direction=asc`), [
    'record.create',
    'record.edit',
    'record.delete',
  ]);
  t.strictSame(await descriptions('actor_email.not=admin@localhost&resource_type=record'), []);
  for (const name of ['resource_id', 'resource_id.not']) {
    const values = (count: number): string =>
      `${name}=${record},${Array.from({ length: count - 1 }, (_, i) => `${i}`)}`;
    t.match(await call('GET', `${events}?${values(100)}`), { status: 200 }, name);
    t.match(
      await call('GET', `${events}?${values(101)}`),
      { status: 400, json: { errors: [{ code: 9207 }] } },
      `${name}: none is left out`,
    );
  }
  const walked: string[] = [];
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const { json: slice } = await call('GET', `${events}?limit=2${cursor && `&cursor=${cursor}`}`);
    walked.push(...slice.result.map((event: { action: { description: string } }) => event.action.description));
    t.equal(slice.result_info.count, slice.result.length);
    cursor = slice.result_info.cursors.after;
  }
  t.strictSame(walked, all, 'from cursor to cursor everything once');
  t.match(await call('GET', `${events}?cursor=x`), { status: 400 });
  // The zone goes, what was done to it stays.
  await call('DELETE', `/zones/${zone}`);
  t.match((await call('GET', path)).json.result[0], { action: { type: 'zone.delete' }, metadata: { zone_id: zone } });
  t.match((await types(''))[2], 'record.edit');
  t.ok(operator);
  t.strictSame(misfits, []);
});

t.test('a download as JSON lines and as CSV', async (t) => {
  const { call, createZone } = await install(t);
  const zone = await createZone('example.com');
  await createZone('example.net');
  const content = '=HYPERLINK("x"), a';
  await call('POST', `/zones/${zone}/dns_records`, { type: 'TXT', name: 'x', content: '"y"', comment: content });
  const home = (await call('GET', '/accounts')).json.result[0].id;
  const path = `/accounts/${home}/logs/audit/export?zone_name=example.com&direction=asc`;
  const lines = (await call('GET', path)).text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  t.match(lines, [{ action: { description: 'zone.create' } }, { action: { description: 'record.create' } }]);
  t.equal(lines.length, 2);
  const csv = await call('GET', `${path}&format=csv`);
  t.match(csv.headers, { 'content-type': /^text\/csv/, 'content-disposition': /audit-log\.csv/ });
  const rows = csv.text.split('\r\n');
  t.equal(rows.length, 4, 'a head, two entries, and the end of the last line');
  t.match(rows[0], /^time,action,actor_email,.*,before,after$/);
  t.match(rows[2], /^2024-05-05T12:00:00\.\d+Z,record\.create,admin@localhost,.*"\{.*HYPERLINK\(\\""x\\""\), a/);
  t.match(await call('GET', `${path}&format=xml`), { status: 400 });
  t.match((await call('GET', `${path}&since=2030-01-01`)).text, /^$/);
});

t.test('a download comes in pieces, between which others have turns', async (t) => {
  const { call, createZone, operator } = await install(t);
  const zone = await createZone('example.com');
  const content = `"${'x'.repeat(250)}" `.repeat(16);
  const posts = Array.from({ length: 60 }, (_, i) => ({ type: 'TXT', name: `n${i}`, content }));
  t.equal((await call('POST', `/zones/${zone}/dns_records/batch`, { posts })).status, 200);
  const home = (await call('GET', '/accounts')).json.result[0].id;
  const pieces: string[] = [];
  for await (const piece of exportAudit(operator, home, { filter: {}, direction: 'asc' }, 'jsonl')) pieces.push(piece);
  t.ok(pieces.length > 2, `${pieces.length} pieces`);
  t.ok(Math.max(...pieces.map(({ length }) => length)) < 150_000);
  t.equal(
    pieces
      .join('')
      .trimEnd()
      .split('\n')
      .filter((line) => line.includes('record.create')).length,
    posts.length,
  );
});

t.test('everyone sees only their own entries, and no secrets', async (t) => {
  const { call, createZone, token, operator, store, misfits } = await install(t);
  await createZone('example.com');
  const other = await createZone('example.net');
  const home = (await call('GET', '/accounts')).json.result[0].id;
  const tenant = await createAccount(operator, { name: 'tenant', members: ['tenant@example.org'] });
  const tenantHeaders = { headers: await token({ email: 'tenant@example.org' }) };
  const theirs = await call('POST', '/zones', { name: 'tenant.test' }, tenantHeaders);
  t.equal(theirs.status, 200);
  for (const path of [`/accounts/${home}/audit_logs`, `/accounts/${home}/logs/audit`]) {
    t.match(await call('GET', path, undefined, tenantHeaders), { status: 403, json: { result: null } }, path);
  }
  const own = await call('GET', `/accounts/${tenant.id}/audit_logs`, undefined, tenantHeaders);
  t.match(own.json.result[0], { action: { type: 'zone.create' }, actor: { email: 'tenant@example.org' } });
  t.notMatch(own.text, /example\.com|example\.net|admin@localhost/);
  const acts = await call('GET', '/user/audit_logs', undefined, tenantHeaders);
  t.strictSame(acts.json.result.length, 1);
  t.match(await call('GET', `/accounts/${'0'.repeat(32)}/audit_logs`), {
    status: 404,
    json: { errors: [{ code: 7003 }] },
  });
  const limited = { headers: await token({ zoneIds: [other] }) };
  for (const path of [`/accounts/${home}/audit_logs`, `/accounts/${home}/logs/audit`, '/user/audit_logs']) {
    t.match(await call('GET', path, undefined, limited), { status: 403, json: { result: null } }, path);
  }
  const secrets = [tenantHeaders, limited].map(({ headers }) => headers.authorization.slice('Bearer '.length));
  const log = JSON.stringify(store.prepare('SELECT * FROM events').all());
  for (const secret of [...secrets, 'k0123456789abcdef0123456789abcdef0123']) t.notOk(log.includes(secret));
  t.strictSame(misfits, []);
});
