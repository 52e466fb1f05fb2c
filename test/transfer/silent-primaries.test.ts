/** Primaries that never answer take places for checks, but not those of other accounts. */
import { createServer } from 'node:net';
import t from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { createAccount } from '../../src/control/access/accounts.js';
import type { Context } from '../../src/control/kernel/context.js';
import { createIncoming } from '../../src/control/secondary/incoming.js';
import { createPeer } from '../../src/control/secondary/peers.js';
import { createZone } from '../../src/control/zones/zones.js';
import { Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { startRunner } from '../../src/jobs/runner.js';
import { findIncoming } from '../../src/store/secondary/incoming.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { incomingJobs } from '../../src/transfer/in/jobs.js';
import { createIncomingCounts } from '../../src/transfer/in/metrics.js';
import { startControl } from '../control/fixture.js';
import { soa, startScriptedPrimary } from '../support/scripted-primary.js';
import { openOneCopy } from '../support/two-copies.js';
import { until } from '../support/until.js';
import { testVault } from '../support/zone-keys.js';

/** More than may run at once. */
const ZONES = 12;
const MINE = 'mine.test';

t.test('silent primaries of greedy neighbours keep no transfer of another account waiting', async (t) => {
  const { ctx: fixture } = await startControl(t, {}, openOneCopy);
  // Sockets do not stand still.
  const ctx: Context = { ...fixture, clock: new SystemClock(), random: systemRandom };
  const { store, clock, log, egress, settings, participants, random } = ctx;
  const asked = new Set<object>();
  const silent = createServer((socket) => {
    asked.add(socket);
    socket.on('error', () => {}).resume();
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const { port } = silent.address() as { port: number };
  const primary = await startScriptedPrimary(MINE);
  primary.script.serial = 7;
  const own = soa(MINE, 7);
  primary.script.transfer = (_, say) => say.message([own, [`${MINE}.`, 300, Type.ns, parseName('ns.example.')], own]);

  const base = { store, clock, random, log, egress, settings, participants };
  const vault = await testVault(store, random);
  const kinds = incomingJobs({ base, vault, authorities: undefined, counts: createIncomingCounts() });
  const runner = startRunner({ store, clock, kinds, owner: 'test', log: silentLogger() });
  t.teardown(async () => {
    const stopped = runner.stop();
    for (const socket of asked) (socket as { destroy(): void }).destroy();
    await Promise.all([stopped, primary.close(), new Promise((resolve) => silent.close(resolve))]);
  });
  const secondary = async (account: string, name: string, of: number): Promise<void> => {
    const peer = await createPeer(ctx, account, { name, ip: '127.0.0.1', port: of });
    const { id } = await createZone(ctx, { name, type: 'secondary', account: { id: account } });
    await createIncoming(ctx, id, { name, peers: [peer.id] });
  };
  for (const name of ['b', 'c', 'd']) {
    const { id } = await createAccount(ctx, { name });
    for (let i = 0; i < ZONES; i++) await secondary(id, `${name}${i}.test`, port);
  }
  const { id: mine } = await createAccount(ctx, { name: 'a' });
  await secondary(mine, MINE, primary.port);
  const { seq } = findZoneByName(store, MINE)!;
  await until(async () => findIncoming(store, seq)?.serial === 7);
  // None of theirs has ended, so that no place became free by itself.
  const ended = ['b', 'c', 'd'].flatMap((name) =>
    Array.from({ length: ZONES }, (_, i) => findIncoming(store, findZoneByName(store, `${name}${i}.test`)!.seq)!),
  );
  t.same(ended.filter(({ failures }) => failures > 0).length, 0);
});
