/** TLS contexts: a stranger who asks for many hosts of one account in turn drives out none of another account. */
import t from 'tap';
import { silentLogger } from '../../../src/base/log.js';
import { systemRandom } from '../../../src/base/random.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { createTlsContexts } from '../../../src/edge/tls/contexts.js';
import type { Route } from '../../../src/hostnames/routing/find-route.js';
import { CIPHER_SUITES } from '../../../src/hostnames/routing/tls-policy.js';
import { ALL_PURPOSES } from '../../../src/store/sealed-columns.js';
import { fileKeys } from '../../../src/vault/master-key.js';
import { unlockVault } from '../../../src/vault/unlock.js';
import { startControl } from '../../control/fixture.js';
import { keepCertificate } from '../fixture.js';

const HOST = 'www.a.test';
const [A, B] = [1, 2];

t.test('each account has a share while others need theirs', async (t) => {
  const { ctx, directory } = await startControl(t);
  const { store } = ctx;
  const keys = fileKeys(`${directory}/master.key`);
  const vault = await unlockVault({ store, keys, random: systemRandom, purposes: ALL_PURPOSES });
  const { id } = await createZone(ctx, { name: 'a.test' });
  await keepCertificate(ctx, vault, { kind: 'zone', id }, 'a.test', [HOST]);
  let made = 0;
  const contexts = createTlsContexts({
    ...{ store, vault, clock: ctx.clock, log: silentLogger(), most: 6 },
    tickets: { generation: () => '1', sessionKeys: () => [], keyFor: () => Buffer.alloc(48, made++) },
    onSecure() {},
    onFailed() {},
  });
  /** A host of the account with settings of its own. */
  const routeOf = (account: number, suite: number): Route => {
    const tls = { ciphers: [CIPHER_SUITES[suite]!] };
    const zone = { seq: account, account, id, name: 'a.test' };
    return { host: HOST, zone, holders: [{ kind: 'zone', id, tls }] } as unknown as Route;
  };
  /** Contexts that are made when these hosts are asked for, one after another. */
  const madeFor = (account: number, suites: readonly number[]): number => {
    const before = made;
    for (const suite of suites) t.ok(contexts.find(routeOf(account, suite)));
    return made - before;
  };
  const many = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
  t.equal(madeFor(B, many), 12);
  t.equal(madeFor(B, many.slice(6)), 0, 'who is alone may have all');
  t.equal(madeFor(A, [0, 1]), 2);
  t.equal(madeFor(B, many), 12);
  t.equal(madeFor(A, [0, 1]), 0, 'another account asks for no more than its share');
  t.equal(madeFor(A, many), 10);
  t.equal(madeFor(A, many.slice(9)), 0, 'nor does it take more than half');
  t.equal(madeFor(A, many.slice(8, 9)), 1);
});
