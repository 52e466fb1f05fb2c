/** The reserve of the disk: what grows leaves it alone, small edits use it, and deletions are always possible. */
import t from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { createDiskRoom } from '../../src/store/disk-room.js';
import { TestClock } from '../support/test-clock.js';
import { install } from './installation.js';

const GIB = 2 ** 30;
const MIB = 2 ** 20;

t.test('the reserve is a twentieth of the disk, at least 256 MiB, and not more than a quarter of a small one', (t) => {
  const clock = new TestClock();
  const table: [octets: number, reserve: number][] = [
    [100 * GIB, 5 * GIB],
    [2 * GIB, 256 * MIB],
    [100 * MIB, 25 * MIB],
  ];
  for (const [octets, reserve] of table) {
    let free = reserve + 1000;
    const room = createDiskRoom(clock, () => ({ octets, free }));
    t.ok(room.take(600));
    t.notOk(room.take(600), 'what was taken counts before the disk is looked at again');
    clock.advance(1001);
    t.ok(room.take(600));
    free = reserve - 1;
    clock.advance(1001);
    t.notOk(room.take(0));
  }
  t.ok(createDiskRoom(clock, () => undefined).take(1e15), 'nothing is refused where nothing is known');
  t.end();
});

t.test('a neighbour who fills the disk takes nothing from others', async (t) => {
  const clock = new TestClock();
  let free = 10 * GIB;
  const disk = createDiskRoom(clock, () => ({ octets: 100 * GIB, free }));
  const { call, createZone, operator, token, base } = await install(t, { disk });
  await createAccount(operator, { name: 'Other', members: ['other@example.org'] });
  const greedy = { headers: await token({ email: 'other@example.org' }) };
  const theirs = (await call('POST', '/zones', { name: 'theirs.example' }, greedy)).json.result.id;
  const zone = await createZone('mine.example');
  const home = (await call('GET', '/accounts')).json.result[0].id as string;
  const bucket = `/accounts/${home}/r2/buckets/large/objects`;
  await call('POST', `/accounts/${home}/r2/buckets`, { name: 'large' });
  t.match(await call('PUT', `${bucket}/o`, undefined, { text: 'x' }), { status: 200 });
  const records = `/zones/${zone}/dns_records`;
  const kept = (await call('POST', records, { type: 'A', name: 'kept', content: '192.0.2.1' })).json.result.id;

  free = 4 * GIB;
  clock.advance(1001);
  const refused = {
    status: 507,
    json: { errors: [{ code: 1500, message: /kept for small edits and for deletions/ }] },
  };
  t.match(await call('PUT', `${bucket}/large`, undefined, { text: 'x'.repeat(200_000) }), refused, 'objects');
  const many = Array.from({ length: 200 }, (_, i) => ({ type: 'A', name: `h${i}`, content: '192.0.2.1' }));
  t.match(await call('POST', `${records}/batch`, { posts: many }), refused, 'many records with a small body');
  t.match(
    await call('POST', records, { type: 'TXT', name: 'l', content: 'x', comment: 'y'.repeat(70_000) }),
    refused,
    'a large body',
  );
  const edit = (i: number) => call('PATCH', `${records}/${kept}`, { content: `192.0.2.${i % 250}` });
  t.match(await edit(7), { status: 200 }, 'a small edit');
  let made = 0;
  while (made < 6000) {
    const name = { type: 'A', name: `s${made}`, content: '' };
    const { status } = await call('POST', `/zones/${theirs}/dns_records`, name, greedy);
    if (status === 507) break;
    made++;
  }
  t.equal(made, 5000, 'small edits of one user have an end');
  t.match(await edit(9), { status: 200 }, 'those of others go on');
  t.match(await call('DELETE', `${bucket}/o`), { status: 200 });
  t.match(
    await call('DELETE', `/zones/${theirs}`, undefined, greedy),
    { status: 200 },
    'whoever has none left deletes',
  );
  t.match(await call('DELETE', `${records}/${kept}`), { status: 200 });
  free = 10 * GIB;
  clock.advance(1001);
  t.match(await call('POST', `${records}/batch`, { posts: many }), { status: 200 });
  t.equal(base.disk, disk);
});
