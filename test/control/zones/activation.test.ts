/** What is looked at to know whose a name is. */
import t from 'tap';
import { createAccount } from '../../../src/control/access/accounts.js';
import type { AskOutside, Context } from '../../../src/control/kernel/context.js';
import { checkActivation } from '../../../src/control/zones/activation.js';
import { createZone } from '../../../src/control/zones/zones.js';
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
