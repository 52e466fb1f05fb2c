/** A stored response is written once, at the end of the turn, and not to a connection that has ended meanwhile. */
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { repeat } from '../../../src/edge/quick/hit.js';

const REPEATED = { status: 200, start: 'start ', end: ' end', body: Buffer.from(' body') };

function begin({ hasMore = false, fails = false } = {}) {
  const told: string[] = [];
  const socket = {
    destroyed: false,
    writableLength: 0,
    writableNeedDrain: false,
    write(octets: Buffer) {
      if (fails) throw new Error('a fault');
      told.push(octets.toString());
      return true;
    },
    destroy: () => void told.push('destroyed'),
  };
  const channel = {
    socket: socket as unknown as Socket,
    keepAlive: '',
    nowMs: () => 0,
    hasMore,
    onWritten: () => void told.push('written'),
  };
  const client = {
    startedMs: 0,
    report: ({ octets, complete }: { octets: number; complete: boolean }) => void told.push(`${octets} ${complete}`),
    reply: () => {
      throw new Error('the general way is not asked');
    },
    onFault: (error: unknown) => void told.push(String(error)),
  };
  const stalls = { watch() {}, forget() {}, cuts: () => 0, close() {} };
  return { told, socket, sending: repeat(REPEATED, 'ray', { channel, client, stalls }) };
}

const WHOLE = ['start ray end body', '5 true', 'written'];

t.test('at the end of the turn, or at once when more has come', async (t) => {
  const { told } = begin();
  t.strictSame(told, []);
  t.strictSame(begin({ hasMore: true }).told, WHOLE);
  await turn();
  t.strictSame(told, WHOLE);
});

t.test('not to a connection that has ended, before or after that was told', async (t) => {
  const [before, after] = [begin(), begin()];
  before.socket.destroyed = true;
  after.socket.destroyed = true;
  after.sending.closed();
  await turn();
  t.strictSame(before.told, []);
  before.sending.closed();
  t.strictSame(before.told, ['5 false']);
  t.strictSame(after.told, ['5 false']);
});

t.test('a fault ends the connection', async (t) => {
  const { told } = begin({ fails: true });
  await turn();
  t.strictSame(told, ['Error: a fault', 'destroyed']);
});

t.test('the end of what came before is not the end of it', async (t) => {
  const { told, sending } = begin();
  sending.drained();
  t.strictSame(told, [], 'the next request would be answered before this one');
  await turn();
  t.strictSame(told, WHOLE);
});
