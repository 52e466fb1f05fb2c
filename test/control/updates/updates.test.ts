/** Dynamic updates as a use case, on two copies of the database: what is refused, and a message that comes again. */
import t from 'tap';
import { createTogether } from '../../../src/control/balancing/together.js';
import { listRecords } from '../../../src/control/records/records.js';
import type { UpdateRequest } from '../../../src/control/updates/update.js';
import { getZone } from '../../../src/control/zones/zones.js';
import type { ReadRecord } from '../../../src/dns/message.js';
import { parseName } from '../../../src/dns/name.js';
import { parseRdata } from '../../../src/dns/rr/registry.js';
import { rcodeOf } from '../../../src/transfer/update/rcodes.js';
import { createUpdateSender } from '../../support/update-sender.js';
import { startZone } from '../fixture.js';

const IN = 1;
const NONE = 254;
const ANY = 255;
const TXT = 16;
const ROOT = parseName('.');

const add = (owner: string, type: number, text: string, ttl = 60): ReadRecord => ({
  owner: parseName(owner),
  type,
  class: IN,
  ttl,
  rdata: parseRdata(type, text, ROOT),
});
const bare = (owner: string, type: number, recordClass: number): ReadRecord => ({
  owner: parseName(owner),
  type,
  class: recordClass,
  ttl: 0,
  rdata: new Uint8Array(0),
});

t.test('an update is applied once, whole, by the rules of the API', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const { send, signature, zone: zoneNow } = await createUpdateSender(ctx, zoneId);
  const rcode = async (parts: Partial<UpdateRequest>): Promise<number> => {
    try {
      await send(parts);
      return 0;
    } catch (error) {
      return rcodeOf(error);
    }
  };

  const signed = signature(200);
  const first = { updates: [add('a.example.com.', TXT, '"one"'), add('a.example.com.', 1, '192.0.2.1')], signed };
  t.match(await send(first), { added: 2, removed: 0, changed: 0, repeated: false });
  await send({ updates: [bare('a.example.com.', ANY, ANY)] });
  const again = await send(first);
  t.match(again, { added: 0, repeated: true, serial: undefined }, 'the same message does nothing again');
  t.equal((await listRecords(ctx, zoneId, {})).totalCount, 0);

  const zone = await getZone(ctx, zoneId);
  t.match(await send({ updates: [bare('a.example.com.', TXT, ANY)] }), { serial: undefined }, 'nothing to remove');
  t.strictSame(await getZone(ctx, zoneId), zone, 'and the zone is as it was');

  const wild = add('*.example.com.', 2, 'ns.else.test.');
  t.match(await send({ updates: [wild] }), { added: 0, serial: undefined }, 'NS at a wildcard is ignored');
  t.strictSame(await getZone(ctx, zoneId), zone, 'and the zone is as it was');

  const good = add('b.example.com.', TXT, '"b"');
  for (const [parts, expected, why] of [
    [{ updates: [good, { ...good, owner: parseName('b.example.org.') }] }, 10, 'outside the zone'],
    [{ updates: [good, { ...good, class: 3 }] }, 1, 'another class'],
    [{ updates: [good, { ...bare('b.example.com.', TXT, ANY), ttl: 1 }] }, 1, 'a deletion with a TTL'],
    [{ updates: [good, { ...good, class: ANY, ttl: 0 }] }, 1, 'a deletion of all with data'],
    [{ updates: [good, { ...good, type: 255 }] }, 1, 'ANY cannot be added'],
    [{ updates: [good, bare('b.example.com.', 255, NONE)] }, 1, 'ANY has no data to delete'],
    [{ updates: [good, { ...good, type: 1 }] }, 1, 'data that the type cannot have'],
    [
      { updates: [good, add('b.example.com.', 46, 'A 13 3 60 20300101000000 20200101000000 1 e. AAAA')] },
      5,
      'signatures',
    ],
    [{ updates: [good, add('b.example.com.', 1, '198.51.100.250')] }, 5, 'an address of the service'],
    [{ updates: [good, add('c.example.com.', 5, 'c.example.com.')] }, 5, 'a CNAME to itself'],
    [{ prerequisites: [{ ...bare('b.example.com.', TXT, ANY), ttl: 1 }], updates: [good] }, 1, 'a TTL'],
    [{ prerequisites: [bare('b.example.com.', TXT, 3)], updates: [good] }, 1, 'the class of a prerequisite'],
    [{ prerequisites: [bare('b.example.com.', 255, IN)], updates: [good] }, 8, 'a type that no RRset has'],
    [{ prerequisites: [bare('b.example.com.', TXT, ANY)], updates: [good] }, 8, 'NXRRSET'],
  ] as const) {
    t.equal(await rcode(parts), expected, why);
  }
  t.equal((await listRecords(ctx, zoneId, {})).totalCount, 0, 'none of them left anything');
  t.equal(await rcode({ updates: [good], prerequisites: [bare('example.com.', 6, ANY)] }), 0);
  const [record] = (await listRecords(ctx, zoneId, {})).items;
  t.match(record, { name: 'b.example.com', comment: 'update key k.test', ttl: 60 });

  const hiding = 'lb.example.com';
  await createTogether(ctx, zoneId, { name: hiding, origins: ['198.51.100.1'], monitor: undefined });
  const hidden = async () =>
    (await listRecords(ctx, zoneId, { name: { exact: hiding } })).items.map(({ content }) => content);
  const serialNow = () => zoneNow().serial;
  const serial = serialNow();
  const below = [add(`${hiding}.`, 1, '192.0.2.7'), add(`${hiding}.`, 1, '192.0.2.8')];
  t.match(await send({ updates: below }), { added: 2, serial: undefined }, 'a load balancer hides them');
  t.strictSame(await hidden(), ['192.0.2.7', '192.0.2.8']);
  t.match(await send({ updates: [{ ...below[0]!, class: NONE, ttl: 0 }] }), { removed: 1 });
  t.strictSame(await hidden(), ['192.0.2.8']);
  t.equal(serialNow(), serial, 'resolvers see nothing of it');
  t.match(await send({ updates: [bare(`${hiding}.`, ANY, ANY)] }), { removed: 1 });
  const served = { ...bare(`${hiding}.`, 1, IN), rdata: parseRdata(1, '198.51.100.1', ROOT) };
  const text = add(`${hiding}.`, TXT, '"beside"');
  t.equal(await rcode({ prerequisites: [served], updates: [text] }), 0, 'prerequisites are about what resolvers see');
  t.strictSame(await hidden(), ['"beside"']);
  t.not(serialNow(), serial);
});
