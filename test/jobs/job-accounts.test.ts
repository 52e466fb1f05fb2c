/** Whose turn a job takes follows from its subject. */
import t from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { planCatalogs } from '../../src/control/schedule/catalogs.js';
import { refreshSoon } from '../../src/control/schedule/refresh.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { install } from '../api/installation.js';

t.test('a subject of any kind leads to its account', async (t) => {
  const { call, store, operator, token } = await install(t);
  const { id } = await createAccount(operator, { name: 'Other', members: ['other@example.org'] });
  const headers = await token({ email: 'other@example.org' });
  const post = async (path: string, body: unknown): Promise<string> => {
    const { status, json, text } = await call('POST', path, body, { headers });
    t.equal(status, 200, text.slice(0, 300));
    return json.result.id;
  };
  const zone = await post('/zones', { name: 'other.example', account: { id } });
  await post(`/zones/${zone}/dns_records`, { type: 'A', name: '@', content: '203.0.113.1', proxied: true });
  await post(`/zones/${zone}/dns_records`, { type: 'CNAME', name: 'to', content: 'other.example' });
  const name = { hostname: 'shop.customer.net', ssl: { method: 'http', type: 'dv' } };
  const hostname = await post(`/zones/${zone}/custom_hostnames`, name);
  await call('PATCH', `/zones/${zone}/dnssec`, { status: 'active' }, { headers });
  await call('PATCH', `/zones/${zone}/settings/development_mode`, { value: 'on' }, { headers });
  await call('PATCH', `/accounts/${id}/dns_settings`, { enforce_dns_only: true }, { headers });
  const { seq, account } = findZoneByName(store, 'other.example')!;
  await store.write(() => {
    refreshSoon(operator, seq);
    planCatalogs(operator, account);
  });
  const seen = new Set<string>();
  const look = (): void => {
    const jobs = store
      .prepare<[], { kind: string; subject: string; account: number }>('SELECT * FROM jobs ORDER BY seq')
      .all();
    for (const job of jobs) {
      seen.add(job.kind);
      const isOf = job.subject === '' ? 0 : account;
      t.equal(job.account, isOf, `${job.kind} ${job.subject}`);
    }
  };
  look();
  await call('DELETE', `/zones/${zone}/custom_hostnames/${hostname}`, undefined, { headers });
  look();
  const kinds = [
    'certificate',
    'development_mode',
    'dnssec',
    'hostname',
    'revoke',
    'zone_certificate',
    'zone_notified',
  ];
  for (const kind of kinds) t.ok(seen.has(kind), kind);
});
