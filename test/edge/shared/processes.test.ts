/** What clients may have of several edge processes: connections, floods, sessions at origins. */
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import t from 'tap';
import type { SessionAffinity } from '../../../src/balancing/load-balancer.js';
import { createSessions } from '../../../src/edge/balance/sessions.js';
import type { EdgeRequest } from '../../../src/edge/exchange/exchange.js';
import { createConnections } from '../../../src/edge/listen/connections.js';
import type { ToldSession } from '../../../src/edge/shared/sessions.js';
import { TestClock } from '../../support/test-clock.js';
import { sharedMemory } from './memory.js';

const CLIENT = '192.0.2.7';

function socketOf(remoteAddress: string): Socket {
  return Object.assign(new EventEmitter(), { remoteAddress, destroy() {} }) as unknown as Socket;
}

function twoProcesses(mostOfOne: number) {
  const clock = new TestClock();
  const processes = sharedMemory(2).map((shared) => createConnections({ clock, mostOfOne, penaltyMs: 10_000, shared }));
  return { clock, first: processes[0]!, second: processes[1]! };
}

t.test('a client has its connections at all processes together', async (t) => {
  const { first, second } = twoProcesses(3);
  const sockets = [1, 2, 3].map(() => socketOf(CLIENT));
  t.same([first.add(sockets[0]!, false), first.add(sockets[1]!, false)], [true, true]);
  t.ok(second.add(sockets[2]!, false));
  t.notOk(second.add(socketOf(CLIENT), false), 'not as many at each');
  t.notOk(first.add(socketOf(CLIENT), false));
  t.ok(first.add(socketOf('192.0.2.8'), false), 'another client');
  sockets[0]!.emit('close');
  t.ok(second.add(socketOf(CLIENT), false), 'all may be at one of them');
  t.same([first.refused(), second.refused()], [1, 1]);
});

t.test('floods at one process count at the others', async (t) => {
  const { clock, first, second } = twoProcesses(100);
  first.noteFlood(CLIENT, 'resets');
  second.noteFlood(CLIENT, 'resets');
  t.ok(first.add(socketOf(CLIENT), true));
  second.noteFlood(CLIENT, 'resets');
  t.notOk(first.add(socketOf(CLIENT), true), 'three of them in all');
  t.notOk(second.add(socketOf(CLIENT), true));
  t.ok(first.add(socketOf(CLIENT), false), 'where nobody can flood it may connect');
  t.ok(first.add(socketOf('192.0.2.8'), true));
  clock.advance(10_001);
  t.ok(first.add(socketOf(CLIENT), true), 'for a while only');
});

/** Sessions by the field `x-user`, in two processes. */
function twoSessions() {
  const clock = new TestClock();
  const hearing: ((session: ToldSession) => void)[] = [];
  const told: [from: number, session: ToldSession][] = [];
  const processes = [0, 1].map((own) =>
    createSessions(clock, () => [Buffer.alloc(32)], {
      tell: (session) => void told.push([own, session]),
      hear: (take) => void hearing.push(take),
    }),
  );
  const affinity: SessionAffinity = {
    ...{ kind: 'header', headers: ['x-user'], requireAllHeaders: false, ttl: 60, drainDuration: 0 },
    ...{ sameSite: 'Auto', secure: 'Auto', failover: 'none' },
  };
  const find = (own: number, user: string) =>
    processes[own]!.find({ id: 'lb', account: 1 }, affinity, { headers: ['x-user', user] } as unknown as EdgeRequest);
  return {
    clock,
    told,
    find: (own: number, user: string) => find(own, user).token,
    keep: (own: number, user: string, token: string) => processes[own]!.keep(find(own, user), affinity, token),
    /** What was told arrives. */
    deliver() {
      for (const [from, session] of told.splice(0)) hearing[1 - from]!(session);
    },
  };
}

t.test('a session by fields is known to all processes', async (t) => {
  const { clock, told, find, keep, deliver } = twoSessions();
  keep(0, 'ann', 'a'.repeat(24));
  t.equal(find(1, 'ann'), undefined);
  deliver();
  t.equal(find(1, 'ann'), 'a'.repeat(24));
  keep(0, 'ann', 'a'.repeat(24));
  t.same(told, [], 'what is known is not told again');
  clock.advance(31_000);
  keep(0, 'ann', 'a'.repeat(24));
  deliver();
  clock.advance(31_000);
  t.equal(find(1, 'ann'), 'a'.repeat(24), 'but in time, as long as it is used');
  keep(0, 'ann', 'f'.repeat(24));
  deliver();
  t.equal(find(1, 'ann'), 'f'.repeat(24), 'another origin takes the place of the first');
});

t.test('two processes that begin a session at the same time agree', async (t) => {
  const { find, keep, deliver } = twoSessions();
  keep(0, 'bob', 'b'.repeat(24));
  keep(1, 'bob', 'a'.repeat(24));
  deliver();
  t.same([find(0, 'bob'), find(1, 'bob')], ['a'.repeat(24), 'a'.repeat(24)]);
});
