/** What accounts share in transfers and dynamic updates: who floods or reads slowly leaves room for the others. */
import t, { type Test } from 'tap';
import { parseCidrSet } from '../../src/base/ip.js';
import { type Logger, silentLogger } from '../../src/base/log.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { createTsig } from '../../src/control/secondary/tsigs.js';
import { createZone } from '../../src/control/zones/zones.js';
import { MessageWriter } from '../../src/dns/message-writer.js';
import { parseName } from '../../src/dns/name.js';
import { signMessage } from '../../src/dns/tsig.js';
import { createTransferPlaces, type TransferPlace } from '../../src/transfer/out/places.js';
import { createTransfers } from '../../src/transfer/out/transfers.js';
import { groupOfSigned } from '../../src/transfer/signed-query.js';
import { createForwarder } from '../../src/transfer/update/forward.js';
import type { Vault } from '../../src/vault/vault.js';
import { startZone } from '../control/fixture.js';
import { TestClock } from '../support/test-clock.js';
import { testVault } from '../support/zone-keys.js';

const SECRET = new Uint8Array(32).fill(3);
const REFUSED = 5;
const SERVFAIL = 2;
const NOTAUTH = 9;

const settled = (): Promise<void> => new Promise(setImmediate);

/** An update of a zone; `number` makes it another message. */
function updateOf(zone: string, key: string, number: number, seconds: number, secret = SECRET): Uint8Array {
  const writer = new MessageWriter(1024);
  const apex = parseName(`${zone}.`);
  writer.begin(number & 0xffff, 0x2800, { name: apex, type: 6, class: 1 });
  writer.add('authority', apex, 16, 60, Uint8Array.of(1, number & 255));
  const signer = { name: parseName(`${key}.`), algorithm: 'hmac-sha256', secret } as const;
  return signMessage(writer.finish(), signer, { time: seconds }).message;
}

const names = ['flood.test', 'quiet.test'];

/** Two accounts with a zone and a key each. */
async function startTwo(t: Test) {
  const { ctx, clock } = await startZone(t);
  const vault = await testVault(ctx.store, ctx.random);
  for (const name of names) {
    const account = (await createAccount(ctx, { name })).id;
    await createZone(ctx, { name, account });
    const secret = Buffer.from(SECRET).toString('base64');
    await createTsig(ctx, { vault }, account, { name: `key.${name}.`, algo: 'hmac-sha256', secret });
  }
  return { store: ctx.store, clock, vault };
}

t.test('a flood of updates with one account’s key leaves those of another their places', async (t) => {
  const { store, clock, vault } = await startTwo(t);
  const relayed: { readonly request: Uint8Array; readonly answer: (answer: Uint8Array) => void }[] = [];
  const forwarder = createForwarder({
    store,
    vault,
    clock,
    log: silentLogger(),
    relay: (request) => new Promise((resolve) => relayed.push({ request, answer: resolve })),
  });
  const rcodes = new Map<string, number[]>(names.map((name) => [name, []]));
  const send = (zone: string, number: number): void => {
    const request = updateOf(zone, `key.${zone}`, number, Math.floor(clock.nowMs() / 1000));
    void forwarder.answer(request, '127.0.0.1').then((answer) => rcodes.get(zone)!.push(answer![3]! & 15));
  };
  for (let number = 0; number < 300; number++) send('flood.test', number);
  await settled();
  t.equal(relayed.length, 8, 'one key has eight places');
  t.equal(rcodes.get('flood.test')!.filter((rcode) => rcode === REFUSED).length, 100, 'and sends 200 at once');
  send('quiet.test', 1);
  await settled();
  t.equal(relayed.length, 9, 'another account’s update goes through beside them, from the same address');
  relayed.at(-1)!.answer(Uint8Array.of(0, 0, 0, 0));
  await settled();
  t.strictSame(rcodes.get('quiet.test'), [0]);
  relayed[0]!.answer(Uint8Array.of(0, 0, 0, 0));
  await settled();
  t.equal(relayed.length, 10, 'the next one follows');
  clock.advance(3000);
  await settled();
  const left = rcodes.get('flood.test')!;
  t.equal(left.filter((rcode) => rcode === SERVFAIL).length, 191, 'nobody waits for longer than three seconds');
});

t.test(
  'of far too many updates no signature is checked, and whoever only names a key takes nothing from it',
  async (t) => {
    const { store, clock, vault } = await startTwo(t);
    let opened = 0;
    const counting: Vault = {
      ...vault,
      open(...what) {
        opened++;
        return vault.open(...what);
      },
    };
    const relay = async (): Promise<Uint8Array> => Uint8Array.of(0, 0, 0, 0);
    const forwarder = createForwarder({ store, vault: counting, clock, log: silentLogger(), relay });
    let number = 0;
    const send = async (zone: string, secret = SECRET, key = zone): Promise<number | undefined> => {
      const request = updateOf(zone, `key.${key}`, ++number, Math.floor(clock.nowMs() / 1000), secret);
      const answer = await forwarder.answer(request, `192.0.2.${number % 256}`);
      return answer && answer[3]! & 15;
    };
    const sendMany = async (
      count: number,
      ...how: Parameters<typeof send>
    ): Promise<Map<number | undefined, number>> => {
      const rcodes = new Map<number | undefined, number>();
      for (let i = 0; i < count; i++) {
        const rcode = await send(...how);
        rcodes.set(rcode, (rcodes.get(rcode) ?? 0) + 1);
      }
      return rcodes;
    };
    const forged = new Uint8Array(32).fill(4);
    t.same(await sendMany(1000, 'quiet.test', forged), new Map([[NOTAUTH, 1000]]));
    t.same(
      await sendMany(1000, 'quiet.test', SECRET, 'flood.test'),
      new Map([[NOTAUTH, 1000]]),
      'a key of another account',
    );
    opened = 0;
    const rcodes = await sendMany(1000, 'flood.test');
    t.same(
      rcodes,
      new Map([
        [0, 200],
        [REFUSED, 200],
        [undefined, 600],
      ]),
    );
    t.equal(opened, 400);
    t.match(
      forwarder.samples().find(({ name }) => name === 'updates_dropped_total'),
      { value: 600 },
    );
    t.same(await sendMany(200, 'quiet.test'), new Map([[0, 200]]), 'the key of the other one has all it may send');
    clock.advance(1000);
    t.same(
      await sendMany(100, 'flood.test'),
      new Map([
        [0, 50],
        [REFUSED, 10],
        [undefined, 40],
      ]),
    );
  },
);

t.test('senders have their turns with those who name a zone of the same account', async (t) => {
  const { store } = await startTwo(t);
  const [flood, quiet, other] = [...names, 'other.test'].map((zone) => {
    return groupOfSigned(store, updateOf(zone, 'key.quiet.test', 1, 0));
  });
  t.not(flood, quiet);
  t.equal(other, groupOfSigned(store, updateOf('x.quiet.test', 'key.quiet.test', 1, 0)));
});

t.test('refused transfers, which anybody can ask for, do not fill the log', async (t) => {
  const { ctx, clock, directory } = await startZone(t);
  const vault = await testVault(ctx.store, ctx.random);
  await createZone(ctx, { name: 'asked.test' });
  const refused: unknown[] = [];
  const log = { ...silentLogger(), info: (line: { zone: string }) => refused.push(line.zone) } as unknown as Logger;
  const transfers = createTransfers({
    store: ctx.store,
    dataDir: directory,
    serving: ctx.settings,
    vault,
    allowed: parseCidrSet([]),
    clock,
    log,
  });
  t.teardown(() => transfers.close());
  const ask = (zone: string): void => {
    const writer = new MessageWriter(512);
    writer.begin(7, 0, { name: parseName(`${zone}.`), type: 252, class: 1 });
    const client = { address: '192.0.2.1', mayTransfer: true, cut: () => {} };
    t.ok(transfers.answer(writer.finish(), client), 'it is answered');
  };
  for (let number = 0; number < 30; number++) ask(`none${number}.test`);
  t.equal(refused.length, 10);
  ask('asked.test');
  t.equal(refused.at(-1), 'asked.test', 'those of zones here have lines of their own');
  clock.advance(1000);
  ask('none.test');
  t.equal(refused.at(-1), 'none.test', 'and there is another one each second');
});

t.test('slow readers give their places up for those who wait', async (t) => {
  const clock = new TestClock();
  const places = createTransferPlaces(clock);
  const cut: string[] = [];
  const inside: TransferPlace[] = [];
  for (let i = 0; i < 25; i++) {
    const address = `192.0.2.${i}`;
    const place = await places.enter(2, address, () => void cut.push(address));
    inside.push(place!);
  }
  let late: TransferPlace | undefined;
  void places.enter(2, '198.51.100.1', () => {}).then((place) => (late = place));
  const other = await places.enter(1, '192.0.2.1', () => {});
  t.ok(other, 'another account has places left');
  clock.advance(9000);
  for (const [i, place] of inside.entries()) place.sent(i === 7 ? 1000 : 10_000_000);
  t.strictSame(cut, [], 'ten seconds are everybody’s');
  clock.advance(2000);
  t.strictSame(cut, ['192.0.2.7']);
  inside[7]!.leave();
  await settled();
  t.ok(late);
  clock.advance(60_000);
  t.equal(cut.length, 1, 'nobody is cut while nobody waits');
  t.match(
    places.samples().find(({ name }) => name === 'transfers_cut_total'),
    { value: 1 },
  );
});
