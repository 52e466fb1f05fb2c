/** Who takes too little of what is sent to them loses it: over real connections, on a clock that the test moves. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { connect as connectTls, TLSSocket } from 'node:tls';
import t, { type Test } from 'tap';
import { type Acknowledged, createStalls, type Stalls } from '../../../src/edge/exchange/stalls.js';
import type { ClientStream } from '../../../src/edge/http2/client-stream.js';
import { CODE, FLAG, FRAME, frame, number, PREFACE, SETTING, settings } from '../../../src/edge/http2/frames.js';
import { writeBlock } from '../../../src/edge/http2/hpack.js';
import { tunnel } from '../../../src/edge/proxy/upgrade.js';
import { acknowledgedWhenAsked } from '../../../src/roles/edge/acknowledged.js';
import { TLS_CERTIFICATE, TLS_KEY } from '../../server/tls-credentials.js';
import { TestClock } from '../../support/test-clock.js';
import { until } from '../../support/until.js';
import { get, openConnection } from '../http2/client-line.js';

/** Between two looks. */
const LOOK_MS = 5000;
const LOOKS_OF_A_MINUTE = 12;

interface Ends {
  readonly server: Socket;
  readonly client: Socket;
}

async function twoEnds(t: Test): Promise<Ends> {
  const listener = createServer({ noDelay: true });
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const client = connect((listener.address() as AddressInfo).port, '127.0.0.1');
  const [server] = (await once(listener, 'connection')) as [Socket];
  for (const socket of [server, client]) {
    socket.on('error', () => {});
    t.teardown(() => socket.destroy());
  }
  listener.close();
  client.pause();
  return { server, client };
}

async function twoTlsEnds(t: Test): Promise<Ends> {
  const { server, client } = await twoEnds(t);
  const ends = {
    server: new TLSSocket(server, { isServer: true, cert: TLS_CERTIFICATE, key: TLS_KEY }),
    client: connectTls({ socket: client, rejectUnauthorized: false }),
  };
  for (const socket of [ends.server, ends.client]) socket.on('error', () => {});
  await Promise.all([once(ends.server, 'secure'), once(ends.client, 'secureConnect')]);
  ends.client.pause();
  return ends;
}

function watched(acknowledged?: Acknowledged) {
  const clock = new TestClock();
  const stalls = createStalls(clock, acknowledged);
  return { clock, stalls, look: () => clock.advance(LOOK_MS) };
}

/** Looks until nothing of it is on its way any more, and a minute. */
async function waitForCut(stalls: Stalls, look: () => void): Promise<void> {
  await until(() => {
    look();
    return stalls.cuts() === 1;
  });
}

const skip = process.platform !== 'linux' && 'only Linux tells what was acknowledged';

t.test('a reader of whom the system has kept megabytes is seen to take what it takes', { skip }, async (t) => {
  const acknowledged = acknowledgedWhenAsked((error) => t.fail(String(error)));
  for (const { server, client } of [await twoEnds(t), await twoTlsEnds(t)]) {
    const { stalls, look } = watched(acknowledged);
    const { fd } = (server as unknown as { readonly _handle: { readonly fd: number } })._handle;
    server.write(Buffer.alloc(1 << 25));
    stalls.watch({ taker: server, cut: () => void server.destroy() });
    await until(() => acknowledged(fd) !== undefined);
    for (let i = 0; i <= LOOKS_OF_A_MINUTE; i++) {
      const before = acknowledged(fd)!;
      await until(() => {
        client.read(Math.min(client.readableLength, 65_536));
        return acknowledged(fd)! >= before + 1024;
      });
      look();
    }
    t.notOk(server.destroyed);
    await waitForCut(stalls, look);
    t.ok(server.destroyed, 'one that has stopped is not waited for');
  }
});

t.test('without that, what is handed to the system counts', async (t) => {
  const { server, client } = await twoEnds(t);
  const { stalls, look } = watched(() => undefined);
  server.write(Buffer.alloc(1 << 23));
  stalls.watch({ taker: server, cut: () => void server.destroy() });
  client.resume();
  await until(() => server.writableLength === 0);
  for (let i = 0; i < 3 * LOOKS_OF_A_MINUTE; i++) look();
  t.equal(stalls.cuts(), 0, 'nothing waits');
  client.pause();
  server.write(Buffer.alloc(1 << 25));
  await waitForCut(stalls, look);
  t.ok(server.destroyed);
});

/** A stream whose windows the client opens itself. */
function openStream(request: Buffer) {
  const { clock, stalls, look } = watched();
  const streams: ClientStream[] = [];
  const first = Buffer.concat([PREFACE, settings([[SETTING.initialWindow, 0]])]);
  const opened = openConnection((stream) => streams.push(stream), first, { clock, stalls });
  opened.line.push(request);
  const take = async (octets: number): Promise<void> => {
    const before = streams[0]!.taken;
    opened.line.push(frame(FRAME.windowUpdate, 0, 1, number(octets)));
    await until(() => streams[0]!.taken === before + octets);
  };
  return { ...opened, streams, stalls, look, take, codes: () => opened.of(FRAME.reset).map(codeOf) };
}

const codeOf = ({ payload }: { readonly payload: Buffer }): number => payload.readUInt32BE(0);

t.test(
  'a stream whose client takes an octet now and then ends, and one that takes 1 kB a minute does not',
  async (t) => {
    for (const [octets, expected] of [
      [1, [CODE.internal]],
      [84, [CODE.internal]],
      [86, []],
    ] as const) {
      const { streams, stalls, look, take, codes } = openStream(get(1));
      await until(() => streams.length === 1);
      const stream = streams[0]!;
      stream.watch({ drained() {}, closed() {} });
      stream.head(200, [], []);
      stream.write(Buffer.alloc(100_000));
      stalls.watch({ taker: stream, cut: () => stream.cut() });
      for (let i = 0; i < LOOKS_OF_A_MINUTE; i++) {
        await take(octets);
        if (i < LOOKS_OF_A_MINUTE - 1) look();
      }
      t.notOk(stream.isOver);
      look();
      await new Promise(setImmediate);
      t.strictSame(codes(), expected, `${octets} octets a look`);
    }
  },
);

const CONNECT = [
  ':method',
  'CONNECT',
  ':protocol',
  'websocket',
  ':scheme',
  'https',
  ':authority',
  'a.test',
  ':path',
  '/',
];

t.test(
  'a tunnel over HTTP/2 lives while its client takes an octet a minute, and not by what is said to it',
  async (t) => {
    const request = frame(FRAME.headers, FLAG.endHeaders, 1, writeBlock(CONNECT, false));
    const { streams, stalls, look, take, codes } = openStream(request);
    await until(() => streams.length === 1);
    const origin = new Duplex({ read() {}, write: (_octets, _encoding, done) => done() });
    const client = streams[0]!.openTunnel();
    streams[0]!.head(200, [], []);
    tunnel(client, origin, stalls, () => {});
    origin.push(Buffer.alloc(1000));
    await until(() => streams[0]!.unsent === 1000);
    for (let minute = 0; minute < 3; minute++) {
      for (let i = 1; i < LOOKS_OF_A_MINUTE; i++) look();
      await take(1);
    }
    look();
    t.strictSame(codes(), [], 'in the middle of a message');
    for (let i = 1; i <= LOOKS_OF_A_MINUTE; i++) {
      t.notOk(origin.destroyed);
      origin.push(Buffer.alloc(10));
      await new Promise(setImmediate);
      look();
    }
    await until(() => origin.destroyed);
    await until(() => codes().length === 1);
    t.strictSame(codes(), [CODE.cancel]);
  },
);
