/** A member of several accounts takes turns of the one that its request is about, and of no account of others. */
import t from 'tap';
import { createAccount } from '../../../src/control/access/accounts.js';
import { accountIdOf } from '../../../src/control/guard/access.js';
import { OPERATOR } from '../../../src/control/guard/actor.js';
import { turnOf } from '../../../src/control/guard/turn-of.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { findZoneById } from '../../../src/store/zones/zones.js';
import { startControl } from '../fixture.js';

t.test('whose turn it is', async (t) => {
  const { ctx } = await startControl(t);
  const [first, second, other] = await Promise.all(
    ['first', 'second', 'other'].map(async (name) => (await createAccount(ctx, { name })).id),
  );
  const zones = await Promise.all(
    [first, second, other].map(
      async (account, i) => (await createZone(ctx, { name: `z${i}.test`, account: account! })).id,
    ),
  );
  t.equal(accountIdOf(ctx.store, findZoneById(ctx.store, Buffer.from(zones[1]!, 'hex'))!), second);
  const asked = { ...ctx, actor: { ...OPERATOR, userId: 'ada', accountIds: [first!, second!] } };
  t.strictSame(
    zones.map((zoneId) => turnOf(asked, { zoneId })),
    [first, second, first],
  );
  t.equal(turnOf(asked, { accountId: second }), second);
  t.equal(turnOf(asked, { accountId: other }), first);
  t.equal(turnOf(asked, { zoneId: 'none' }), first);
  t.equal(turnOf({ ...ctx, actor: { ...OPERATOR, userId: 'ada' } }, { accountId: second }), 'ada');
});
