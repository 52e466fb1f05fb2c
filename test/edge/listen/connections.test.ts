/** Connections of clients: whoever holds most loses one when there are too many of all. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import t from 'tap';
import { createConnections } from '../../../src/edge/listen/connections.js';
import { TestClock } from '../../support/test-clock.js';

/** That closes later, as real ones do. */
class HeldSocket extends EventEmitter {
  destroyed = false;

  constructor(readonly remoteAddress: string) {
    super();
  }

  destroy(): void {
    this.destroyed = true;
    queueMicrotask(() => this.emit('close'));
  }
}

t.test('nobody keeps others out by holding connections open', async (t) => {
  const connections = createConnections({ clock: new TestClock(), mostOfOne: 10, most: 12, penaltyMs: 1000 });
  const open = (address: string, count: number): HeldSocket[] =>
    Array.from({ length: count }, () => {
      const socket = new HeldSocket(address);
      connections.add(socket as unknown as Socket, false);
      return socket;
    });
  const left = (sockets: readonly HeldSocket[]): number => sockets.filter(({ destroyed }) => !destroyed).length;
  const greedy = open('192.0.2.1', 11);
  t.same([left(greedy), connections.refused()], [10, 1], 'no more of one client');
  const visitors = ['192.0.2.2', '192.0.2.3', '192.0.2.4', '192.0.2.5'].flatMap((address) => open(address, 1));
  t.equal(left(visitors), 4);
  t.same([left(greedy), greedy[0]!.destroyed, greedy[1]!.destroyed, greedy[2]!.destroyed], [8, true, true, false]);
  const others = [1, 2, 3].flatMap((host) => open(`2001:db8::${host}`, 4));
  t.equal(left(visitors), 4, 'many addresses of one network are one client');
  await Promise.resolve();
  t.equal(connections.count(), 12);
  t.same([left(greedy), left(others)], [4, 4], 'each loses its own when it has most');
  t.equal(connections.refused(), 1 + 2 + 12);
  connections.destroyAll();
  await Promise.resolve();
  t.equal(connections.count(), 0);
});
