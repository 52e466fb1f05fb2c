/** The orders that an authority allows are shared by accounts, and a third is kept for active names and renewals. */
import t from 'tap';
import { ORDERS, takeOrder } from '../../src/certs/issuance/order-budget.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { createZone } from '../../src/control/zones/zones.js';
import type { RequestRow } from '../../src/store/certs/requests.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { startControl } from '../control/fixture.js';
import { openOneCopy } from '../support/two-copies.js';

t.test('greedy neighbours leave orders for others, for active names and for renewals', async (t) => {
  const { ctx, clock } = await startControl(t, {}, openOneCopy);
  const { store } = ctx;
  const rowOf = async (name: string, account?: string): Promise<RequestRow> => {
    await createZone(ctx, { name, ...(account !== undefined && { account: { id: account } }) });
    const { seq: zone } = findZoneByName(store, name)!;
    // A hostname that is not active yet.
    return { owner_kind: 'hostname', owner: 'absent', zone, renewal: 0 } as RequestRow;
  };
  const order = (row: RequestRow, authority: 'lets_encrypt' | 'google' = 'lets_encrypt') =>
    store.write(() => takeOrder(store, row, authority, clock.nowMs()));
  const orderAll = async (row: RequestRow): Promise<number> => {
    for (let made = 0; ; made++) if ((await order(row)) !== undefined || made > 200) return made;
  };
  const mine = await rowOf('mine.example');
  t.equal(await orderAll(mine), 66, 'alone, an account has all but what is kept');
  t.equal(await orderAll({ ...mine, renewal: 1 }), 34);
  t.equal(await order(mine, 'google'), undefined, 'authorities count apart');
  const again = (await order({ ...mine, renewal: 1 }))!;
  t.ok(again > clock.nowMs() && again <= clock.nowMs() + 600_000, 'it is tried again soon');

  clock.advance(3_600_001);
  const others: RequestRow[] = [];
  for (const name of ['b', 'c', 'd']) {
    const { id } = await createAccount(ctx, { name });
    others.push(await rowOf(`${name}.example`, id));
  }
  const used: number[] = [];
  for (const row of others) used.push(await orderAll(row));
  t.same(used, [33, 17, 8]);
  for (const row of others) used.push(await orderAll({ ...row, renewal: 1 }));
  t.ok(used.reduce((a, b) => a + b) < ORDERS, used.join());
  t.equal(await order(mine), undefined, 'a new name of another account');
  t.equal(await order({ ...mine, renewal: 1 }), undefined, 'and its renewals');
  const zone = { ...mine, owner_kind: 'zone' } as const;
  t.equal(await order(zone), undefined, 'and those of its active zone');
  for (const row of [mine, { ...mine, renewal: 1 }]) await orderAll(row);
  t.ok((await order(mine))! > clock.nowMs(), 'all are used');
  clock.putBack(86_400_000);
  t.equal(await order(mine), undefined, 'a clock that is put back keeps nobody waiting');
});
