/** What is looked at to know whose a name is. */
import t from 'tap';
import { createAccount } from '../../../src/control/access/accounts.js';
import type { AskOutside, Context } from '../../../src/control/kernel/context.js';
import { createRecord } from '../../../src/control/records/records.js';
import { checkActivation } from '../../../src/control/zones/activation.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { zonesOfName } from '../../../src/store/zones/zones.js';
import { startControl } from '../fixture.js';

t.test('what servers of the installation say for a zone that nobody has proven proves nothing below it', async (t) => {
  const { ctx } = await startControl(t, { activation: 'auto' });
  const { id } = await createAccount(ctx, { name: 'B' });
  let parent = 'ns1.dns.test';
  const askOutside: AskOutside = async (name, type) => {
    const isParent = name === 'victim.test' && type === 'NS';
    const records = isParent ? [{ name, type, ttl: 60, content: parent }] : [];
    return { status: isParent ? 'ok' : 'nxdomain', records, referral: [] };
  };
  const actor = { ...ctx.actor, kind: 'token', superAdministrator: false, accountIds: [id] } as const;
  const findDelegation = async () => ['ns1.dns.test', 'ns2.dns.test'];
  const b: Context = { ...ctx, actor, askOutside, findDelegation };
  const zone = await createZone(b, { name: 'shop.victim.test' });
  t.match(await checkActivation(b, zone.id), { status: 'pending', proof: { by: null } });
  parent = 'ns1.registrar.example';
  t.match(await checkActivation(b, zone.id), { status: 'active', proof: { by: 'delegation' } });
});

t.test('a claim below a proven zone is answered when that zone’s delegation was found, not before', async (t) => {
  const { ctx } = await startControl(t, { activation: 'trust' });
  const { id } = await createAccount(ctx, { name: 'B' });
  const above = await createZone(ctx, { name: 'example.test' });
  for (const content of ['ns1.dns.test', 'ns2.dns.test']) {
    await createRecord(ctx, above.id, { type: 'NS', name: 'shop', content, ttl: 60 });
  }
  const actor = { ...ctx.actor, kind: 'token', superAdministrator: false, accountIds: [id] } as const;
  const below = await createZone({ ...ctx, actor }, { name: 'shop.example.test' });
  const isServed = (): boolean => zonesOfName(ctx.store, 'shop.example.test')[0]!.served === 1;
  t.match(below, { status: 'pending', proof: { by: null } });
  t.notOk(isServed());
  t.match(await checkActivation({ ...ctx, actor }, below.id), { status: 'active', proof: { by: 'delegation' } });
  t.ok(isServed());
});
