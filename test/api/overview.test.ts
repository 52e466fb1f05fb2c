/** What the overview says needs somebody: the same as `doctor`, and to each only what is theirs. */
import t from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { OPERATOR } from '../../src/control/guard/actor.js';
import { examineStore } from '../../src/warnings/examine.js';
import { countWarnings, isWarning, nameSome, WARNING_KINDS } from '../../src/warnings/finding.js';
import { install } from './installation.js';

t.test('the overview warns of what doctor warns of, and tells tenants of their own only', async (t) => {
  const { call, createZone, token, operator, store, clock, misfits } = await install(t);
  const account = (await call('GET', '/accounts')).json.result[0].id;
  const secondary = async (name: string, id: string, headers: Record<string, string> = {}): Promise<string> => {
    const { json } = await call('POST', '/zones', { name, account: { id }, type: 'secondary' }, { headers });
    const peer = { name: 'primary', ip: '192.0.2.66' };
    const made = await call('POST', `/accounts/${id}/secondary_dns/peers`, peer, { headers });
    const incoming = { name, peers: [made.json.result.id], auto_refresh_seconds: 600 };
    const { status } = await call('POST', `/zones/${json.result.id}/secondary_dns/incoming`, incoming, { headers });
    t.equal(status, 200, `${name} has a primary`);
    return json.result.id;
  };
  const zone = await createZone('shop.example');
  await call('POST', `/zones/${zone}/dns_records`, { type: 'A', name: 'www', content: '192.0.2.1', proxied: true });
  const waits = await secondary('never.example', account);
  const meta = async (id: string) => (await call('GET', `/zones/${id}`)).json.result.meta;
  t.equal((await meta(waits)).transfer_state, 'waiting', 'it is not shown as one that is fine');
  t.notOk('transfer_state' in (await meta(zone)), 'written here');
  const tenant = await createAccount(operator, { name: 'Tenant' });
  const theirs = await token({ email: 'tenant@example.org', accountId: tenant.id });
  const other = await secondary('theirs.example', tenant.id, theirs);

  const notices = async (headers: Record<string, string> = {}) =>
    (await call('GET', '/overview', undefined, { headers })).json.result.notices as Record<string, string>[];
  const all = await notices();
  const found = examineStore({ store, actor: OPERATOR }, operator.settings, clock.nowUs()).filter(isWarning);
  t.strictSame(
    all.map(({ code, text }) => [code, text]),
    found.map(({ kind, text }) => [kind, text]),
    'one source',
  );
  t.match(all, [
    {
      code: 'zone-never-transferred',
      severity: 'warning',
      text: 'never.example was never transferred, and is answered with SERVFAIL: nothing was tried yet',
      zone_id: waits,
    },
    { code: 'zone-never-transferred', zone_id: other },
  ]);
  t.match(await notices(theirs), [{ code: 'zone-never-transferred', zone_id: other }], 'their own');
  t.equal((await notices(theirs)).length, 1, 'and nothing else');
  const readOne = {
    effect: 'allow',
    permission_groups: [{ id: '82e64a83756745bbbb1c9c2701bf816b' }],
    resources: { [`com.cloudflare.api.account.zone.${zone}`]: '*' },
  };
  const { json } = await call('POST', '/user/tokens', { name: 'one zone', policies: [readOne] });
  t.strictSame(await notices({ authorization: `Bearer ${json.result.value}` }), [], 'none is about that zone');
  t.strictSame(misfits, []);
});

t.test('a flood of one kind is counted, and no kind is left out of the counts', async (t) => {
  const one = { what: 'jobs', verdict: 'warn', kind: 'job-failing', remedy: 'See it.' } as const;
  const many = Array.from({ length: 8 }, (_, i) => ({ ...one, text: `job ${i}` }));
  const fine = { what: 'zones', verdict: 'ok', text: 'nothing unusual' } as const;
  t.strictSame(
    nameSome([fine, ...many]).map(({ text }) => text),
    ['nothing unusual', 'job 0', 'job 1', 'job 2', 'job 3', 'job 4', '3 more like the last one'],
  );
  const counts = countWarnings([fine, ...many]);
  t.strictSame(Object.keys(counts), [...WARNING_KINDS]);
  t.equal(counts['job-failing'], 8);
  t.equal(counts['backup-old'], 0);
});
