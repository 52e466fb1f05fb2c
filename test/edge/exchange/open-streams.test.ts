/** What one client, and all who ask the hosts of one account, may have open over HTTP/2. */
import { type ClientHttp2Stream, connect as connectHttp2, constants } from 'node:http2';
import t from 'tap';
import { editZoneSetting } from '../../../src/control/zones/settings.js';
import { createOpenStreams } from '../../../src/edge/exchange/open-streams.js';
import { CODE, FRAME, frame, number } from '../../../src/edge/http2/frames.js';
import { until } from '../../support/until.js';
import { startEdgeWorld } from '../fixture.js';
import { get, openConnection } from '../http2/client-line.js';
import { listenTo } from '../raw-origin.js';

const turn = (): Promise<void> => new Promise(setImmediate);

t.test('connections of one client have their streams together', async (t) => {
  const open = createOpenStreams(4, { client: 400, account: 400 });
  let begun = 0;
  const begin = (client: string) => openConnection(() => void begun++, undefined, { open, client });
  const [one, two, other] = [begin('a'), begin('a'), begin('b')];
  for (let i = 0; i < 100; i++) one.line.push(get(2 * i + 1));
  await until(() => begun === 100);
  for (let i = 0; i < 200; i++) {
    two.line.push(get(2 * i + 1));
    await turn();
  }
  await until(() => two.of(FRAME.reset).length === 200);
  t.ok(two.of(FRAME.reset).every(({ payload }) => payload.readUInt32BE(0) === CODE.refusedStream));
  t.strictSame([two.floods, two.of(FRAME.goAway), open.refused()], [[], [], 200], 'which is nobody’s fault');
  other.line.push(get(1));
  await until(() => begun === 101);
  one.line.push(frame(FRAME.reset, 0, 1, number(CODE.cancel)));
  await turn();
  two.line.push(Buffer.concat([get(401), get(403)]));
  await until(() => begun === 102 && two.of(FRAME.reset).length === 201);
  one.line.destroy();
  await until(() => one.connection.streams.size === 0);
  two.line.push(get(405));
  await until(() => begun === 103);
  for (const { line } of [two, other]) line.destroy();
  await until(() => [two, other].every(({ connection }) => connection.streams.size === 0));
  t.equal(open.join('a').open, 0, 'nothing stays');
});

t.test('an account that has no more leaves others theirs', (t) => {
  const open = createOpenStreams(1, { client: 100, account: 2 });
  const leave = [1, 2, 1].map((account) => open.enter(account));
  t.strictSame(
    [1, 2].map((account) => open.isFull(() => account)),
    [true, false],
  );
  leave[0]!();
  t.notOk(open.isFull(() => 1));
  t.end();
});

t.test('beyond the bound of an account, clients are told to come back', async (t) => {
  let heard = 0;
  const port = await listenTo(t, () => void heard++);
  const world = await startEdgeWorld(t, { openStreams: { client: 100, account: 3 } });
  const zone = await world.zone('a.test', port);
  await editZoneSetting(world.ctx, zone, 'ssl', 'flexible');
  await world.heard();
  const socket = await world.tls('www.a.test', { ALPNProtocols: ['h2'] });
  const session = connectHttp2('https://www.a.test', { createConnection: () => socket });
  t.teardown(() => session.destroy());
  let paths = 0;
  const ask = (): { readonly stream: ClientHttp2Stream; readonly heads: unknown[][] } => {
    const stream = session.request({ ':path': `/${++paths}` });
    const heads: unknown[][] = [];
    stream.on('response', (head) => heads.push([head[':status'], head['retry-after']]));
    stream.resume();
    return { stream, heads };
  };
  const asked = [ask(), ask(), ask(), ask()];
  await until(() => asked[3]!.heads.length === 1 && heard === 3);
  t.strictSame(
    asked.map(({ heads }) => heads),
    [[], [], [], [[503, '5']]],
  );
  const { value } = world.edge.samples().find(({ name }) => name === 'edge_streams_refused')!;
  t.equal(value, 1);
  asked[0]!.stream.close(constants.NGHTTP2_CANCEL);
  // That is heard of a moment later.
  await until(() => {
    ask();
    return heard === 4;
  });
});
