/** Updates of many instructions and prerequisites at large RRsets: their work grows with their length only. */
import t, { type Test } from 'tap';
import { finished } from '../../../src/base/slices.js';
import { requirePrerequisites } from '../../../src/control/updates/prerequisites.js';
import { Type } from '../../../src/dns/codes.js';
import type { ReadRecord } from '../../../src/dns/message.js';
import { parseName } from '../../../src/dns/name.js';
import { parseRdata, typeByCode } from '../../../src/dns/rr/registry.js';
import { servingZone } from '../../../src/serving/zone.js';
import { rcodeOf } from '../../../src/transfer/update/rcodes.js';
import { createUpdateSender } from '../../support/update-sender.js';
import { startZone } from '../fixture.js';

const [IN, NONE, ANY] = [1, 254, 255];
const BIG = parseName('big.example.com.');
/** More than are edited in a write at once. */
const MANY = 600;

const address = (i: number): ReadRecord => ({
  owner: BIG,
  type: Type.a,
  class: IN,
  ttl: 60,
  rdata: Uint8Array.of(192, 0, 2 + (i >> 8), i & 255),
});
const removal = (i: number): ReadRecord => ({ ...address(i), class: NONE, ttl: 0 });
const exists: ReadRecord = { ...address(0), class: ANY, ttl: 0, rdata: new Uint8Array(0) };
const all = Array.from({ length: MANY }, (_, i) => i);

async function start(t: Test) {
  const { ctx, zoneId } = await startZone(t);
  return { ctx, ...(await createUpdateSender(ctx, zoneId)) };
}

t.test('many instructions are planned, and applied as few are', async (t) => {
  const { zone, send, signature } = await start(t);
  const serial = zone().serial + 100;
  const soa = parseRdata(Type.soa, `ns. host. ${serial} 1 1 1 1`, parseName('.'));
  const moved: ReadRecord = { owner: parseName('example.com.'), type: Type.soa, class: IN, ttl: 60, rdata: soa };
  const updates = [...all.map(address), moved];
  t.match(await send({ updates }), { added: MANY, removed: 0, serial }, 'with the serial that it asks for');
  t.equal(zone().serial, serial);
  t.match(await send({ updates, signed: signature() }), { added: 0, repeated: true }, 'once');
  const listed = all.map((i) => ({ ...address(i), ttl: 0 }));
  const few = [...all.slice(1).map(removal), ...all.map(() => removal(MANY))];
  await t.rejects(
    send({ prerequisites: listed.slice(1), updates: few }).catch((error) => {
      t.equal(rcodeOf(error), 8, 'NXRRSET: another set is served');
      throw error;
    }),
  );
  t.match(await send({ prerequisites: listed, updates: few }), { removed: MANY - 1, serial: serial + 1 });
  t.match(await send({ prerequisites: [listed[0]!], updates: [removal(0)] }), { removed: 1 });
});

t.test('a removal does not look at all records of its set', async (t) => {
  const { send } = await start(t);
  await send({ updates: all.map(address) });
  const type = typeByCode(Type.a);
  const { canonical } = type;
  let calls = 0;
  t.teardown(() => Object.assign(type, { canonical }));
  Object.assign(type, {
    canonical(rdata: Uint8Array) {
      calls++;
      return canonical.call(type, rdata);
    },
  });
  t.match(await send({ updates: all.map((i) => removal(i + MANY)) }), { removed: 0 });
  t.ok(calls > 0 && calls <= 10 * MANY, 'as often as there are instructions and records');
});

t.test('prerequisites of one name read it once', async (t) => {
  const { ctx, zone, send } = await start(t);
  await send({ updates: [address(1)] });
  let reads = 0;
  const served = new Proxy(servingZone(ctx.store, zone(), ctx.settings), {
    get(target, property) {
      reads++;
      return Reflect.get(target, property);
    },
  });
  const work = requirePrerequisites(
    ctx.store,
    served,
    all.map(() => exists),
  );
  finished(work);
  t.ok(reads > 0 && reads < MANY / 2);
});
