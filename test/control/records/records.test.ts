/**
 * Use cases of single records: every rule with its code, what PUT and PATCH keep, and entries in the change and audit
 * logs.
 */
import t from 'tap';
import { commit } from '../../../src/control/kernel/commit.js';
import { type Context, DEFAULT_LIMITS } from '../../../src/control/kernel/context.js';
import { applyBatch } from '../../../src/control/records/batch.js';
import type { RecordItem } from '../../../src/control/records/item.js';
import {
  createRecord,
  deleteRecord,
  editRecord,
  getRecord,
  listRecords,
  type RecordInput,
  replaceRecord,
} from '../../../src/control/records/records.js';
import { getZone } from '../../../src/control/zones/zones.js';
import { Type } from '../../../src/dns/codes.js';
import { changesAfter, lastChange, rrsOfChange } from '../../../src/store/log/changes.js';
import { recordsOfZone } from '../../../src/store/records/records.js';
import { findZoneByName } from '../../../src/store/zones/zones.js';
import { latestEvents } from '../../support/rows.js';
import { refusal, startZone } from '../fixture.js';

t.test('create: names', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const nameOf = async (name: string, address: string): Promise<string> =>
    (await createRecord(ctx, zoneId, { type: 'A', name, content: address })).name;
  let last = 0;
  const next = () => `192.0.2.${++last}`;
  const cases: [string, string][] = [
    ['@', 'example.com'],
    ['', 'example.com'],
    ['  www ', 'www.example.com'],
    ['WWW.Example.COM', 'www.example.com'],
    ['www.example.com.', 'www.example.com'],
    ['www.sub', 'www.sub.example.com'],
    ['*', '*.example.com'],
    ['*.dev', '*.dev.example.com'],
    ['_dmarc', '_dmarc.example.com'],
    ['münchen', 'xn--mnchen-3ya.example.com'],
    ['MÜNCHEN.example.com', 'xn--mnchen-3ya.example.com'],
    ['example.com.evil.net', 'example.com.evil.net.example.com'],
    ['notexample.com', 'notexample.com.example.com'],
    ['1abc', '1abc.example.com'],
  ];
  for (const [input, name] of cases) t.equal(await nameOf(input, next()), name, `'${input}'`);
  const bad = [
    'www.example.net.',
    'a..b',
    '.a',
    'a b',
    '-a',
    'a-',
    'a_-',
    'x'.repeat(64),
    `${`${'x'.repeat(60)}.`.repeat(4)}example.com`,
    'a!b',
    'a/b',
    'www..',
  ];
  for (const name of bad) {
    t.match(await refusal(nameOf(name, next())), {
      status: 400,
      code: 9000,
      message: 'DNS name is invalid.',
      pointer: '/name',
    });
  }
});

t.test('create: content, TTL, proxied, comment and tags', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const create = (input: RecordInput) =>
    createRecord(ctx, zoneId, { name: 'x', type: 'A', content: '192.0.2.1', ...input });
  const refused: [string, RecordInput, number, string | RegExp][] = [
    ['no type', { type: undefined }, 9207, 'Request body is invalid.'],
    ['no name', { name: undefined }, 9207, 'Request body is invalid.'],
    ['unknown type', { type: 'FOO' }, 9207, 'Request body is invalid.'],
    ['SOA', { type: 'SOA', content: 'a b 1 2 3 4 5' }, 9207, 'Request body is invalid.'],
    ['type not to be created', { type: 'RRSIG', content: 'x' }, 9207, 'Request body is invalid.'],
    ['both address families only', { settings: { ipv4_only: true, ipv6_only: true } }, 9207, /./],
    ['line break in comment', { comment: 'a\nb' }, 9207, 'Request body is invalid.'],
    ['A with a name', { content: 'host' }, 9005, 'Content for A record must be a valid IPv4 address.'],
    ['A with leading zeros', { content: '192.000.002.001' }, 9005, /IPv4/],
    ['A without content', { content: null }, 9005, /IPv4/],
    ['AAAA', { type: 'AAAA', content: '::g' }, 9006, 'Content for AAAA record must be a valid IPv6 address.'],
    ['CNAME with an address', { type: 'CNAME', content: '192.0.2.1' }, 9007, 'Content for CNAME record is invalid.'],
    ['NS', { type: 'NS', content: 'a..b' }, 9007, /NS/],
    ['MX', { type: 'MX', content: 'a b', priority: 1 }, 9009, /MX/],
    ['TXT with stray quote', { type: 'TXT', content: '"a" b"' }, 9051, /./],
    [
      'SRV without weight',
      { type: 'SRV', data: { priority: 1, port: 1, target: 'a.b' } },
      9101,
      'weight is a required data field.',
    ],
    ['CNAME of itself', { type: 'CNAME', content: 'X.Example.com.' }, 9039, 'CNAME content cannot reference itself.'],
    ['proxied TXT', { type: 'TXT', content: 'a', proxied: true }, 9004, 'This record type cannot be proxied.'],
    [
      'proxied private address',
      { content: '10.0.0.1', proxied: true },
      9003,
      'Target 10.0.0.1 is not allowed for a proxied record. It is not a public address, and allow-networks does not name its network for origins.',
    ],
    ['the service itself', { content: '198.51.100.250' }, 9003, /198\.51\.100\.250/],
    [
      'the service itself, as IPv6',
      { type: 'AAAA', content: '::ffff:198.51.100.250' },
      9003,
      /::ffff:198\.51\.100\.250/,
    ],
    ['TTL too short', { ttl: 59 }, 9021, 'TTL must be between 60 and 86400 seconds, or 1 for Automatic.'],
    ['TTL too long', { ttl: 86401 }, 9021, /./],
    ['TTL with fraction', { ttl: 60.5 }, 9021, /./],
    [
      'long comment',
      { comment: 'x'.repeat(101) },
      9313,
      'DNS record comment exceeds the maximum length of 100 characters.',
    ],
    [
      'too many tags',
      { tags: Array.from({ length: 21 }, (_, i) => `t${i}:1`) },
      9300,
      'DNS record has 21 tags, exceeding the quota of 20.',
    ],
    ['bad tag', { tags: ['a b:1'] }, 9301, /a b/],
  ];
  for (const [title, input, code, message] of refused) {
    t.match(await refusal(create(input)), { name: 'AppError', status: 400, code, message }, title);
  }
  t.equal((await listRecords(ctx, zoneId, {})).totalCount, 0, 'none of them left anything');

  t.match(
    await refusal(create({ name: '-', content: 'bad', ttl: 2, proxied: true })),
    { code: 9000 },
    'the name is looked at first',
  );
  t.match(await refusal(create({ content: 'bad', ttl: 2 })), { code: 9005 }, 'then the content');
  t.match(await refusal(create({ content: '10.0.0.1', proxied: true, ttl: 2 })), { code: 9003 }, 'then proxied');
  t.match(await refusal(create({ ttl: 2, comment: 'x'.repeat(101) })), { code: 9021 }, 'then the TTL');

  const full = await create({
    type: 'a',
    ttl: '120',
    comment: 'ü'.repeat(100),
    tags: ['env:prod', 'ENV:test', 'bare'],
    settings: { ipv4_only: null, flatten_cname: true },
    priority: null,
    data: null,
    locked: true,
  } as RecordInput);
  t.match(full, {
    type: 'A',
    content: '192.0.2.1',
    ttl: 120,
    proxied: false,
    proxiable: true,
    comment: 'ü'.repeat(100),
    tags: ['ENV:test', 'bare'],
    settings: {},
    zoneName: 'example.com',
    zoneId,
  });
  t.equal(full.commentModifiedAt, full.createdAt);
  t.equal(full.tagsModifiedAt, full.createdAt);
  t.equal(full.priority, undefined);
  t.equal(full.data, undefined);
  t.match(await create({ name: 'p', proxied: true, ttl: 3600 }), { ttl: 1, proxied: true }, 'proxied is automatic');
  t.match(await create({ name: 'z', ttl: 0 }), { ttl: 1 });
  t.match(await create({ name: 'n', ttl: null, proxied: null, comment: '', tags: null }), {
    ttl: 1,
    proxied: false,
    comment: null,
    tags: [],
  });
});

t.test('create: types with special rules', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const create = (input: RecordInput): Promise<RecordItem> => createRecord(ctx, zoneId, input);
  t.match(await create({ type: 'MX', name: '@', content: 'Mail.Example.com.', priority: 5 }), {
    content: 'mail.example.com',
    priority: 5,
  });
  t.match(await create({ type: 'SPF', name: '@', content: 'v=spf1 -all' }), { type: 'TXT', content: 'v=spf1 -all' });
  t.match(await create({ type: 'TXT', name: '@', content: '"quoted" "twice"' }), { content: '"quoted" "twice"' });
  const data = { priority: 10, weight: 5, port: 5060, target: 'sip.example.com' };
  t.match(await create({ type: 'SRV', name: '_sip._tcp', data }), {
    name: '_sip._tcp.example.com',
    content: '5 5060 sip.example.com',
    priority: 10,
    data,
  });
  const legacy: [unknown, unknown, string][] = [
    [undefined, { ...data, service: '_a', proto: '_tcp', name: 'example.com' }, '_a._tcp.example.com'],
    [undefined, { ...data, service: 'b', proto: 'tcp', name: 'host.example.com.' }, '_b._tcp.host.example.com'],
    [undefined, { ...data, service: '_c', proto: '_udp', name: '@' }, '_c._udp.example.com'],
    ['sub', { ...data, service: '_d', proto: '_udp' }, '_d._udp.sub.example.com'],
    ['_e._tcp.x', { ...data, service: '_e', proto: '_tcp', name: 'x' }, '_e._tcp.x.example.com'],
  ];
  for (const [name, parts, expected] of legacy) {
    t.equal((await create({ type: 'SRV', name, data: parts } as RecordInput)).name, expected);
  }
  t.match(
    await create({
      type: 'CAA',
      name: '@',
      content: '0 issue x.test',
      data: { flags: '0', tag: 'issue', value: 'x.test' },
    }),
    {
      content: '0 issue "x.test"',
      data: { flags: 0, tag: 'issue', value: 'x.test' },
    },
  );
});

t.test('coexistence and duplicates', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const create = (type: string, name: string, content: string, more: RecordInput = {}) =>
    createRecord(ctx, zoneId, { type, name, content, ...more });
  await create('A', 'a', '192.0.2.1');
  await create('CNAME', 'c', 'a.example.com');
  await create('NS', 'n', 'ns.other.test');
  const cases: [string, string, string, number][] = [
    ['CNAME', 'a', 'x.test', 81053],
    ['CNAME', 'c', 'x.test', 81053],
    ['CNAME', 'n', 'x.test', 81056],
    ['A', 'c', '192.0.2.2', 81054],
    ['AAAA', 'c', '2001:db8::1', 81054],
    ['A', 'n', '192.0.2.2', 81056],
    ['NS', 'a', 'ns.other.test', 81055],
    ['NS', 'c', 'ns.other.test', 81054],
  ];
  for (const [type, name, content, code] of cases) {
    t.match(await refusal(create(type, name, content)), { status: 400, code }, `${type} over ${name}`);
  }
  t.match(await refusal(create('CNAME', 'A.example.com.', 'x.test')), {
    message: /^An A, AAAA, or CNAME record with that host already exists\./,
  });
  t.match(await refusal(create('A', 'a', '192.0.2.1', { ttl: 600, comment: 'again' })), {
    code: 81058,
    message: 'An identical record already exists.',
    also: [{ code: 81057, message: 'The record already exists.' }],
  });
  t.match(await refusal(create('CNAME', 'c', 'A.Example.Com.')), { code: 81058 });
  await create('TXT', 'a', 'hello');
  t.match(await refusal(create('TXT', 'a', '"hello"')), { code: 81058 }, 'quotes make no other text');
  t.match(await refusal(create('TXT', 'a', '"hel" "lo"')), { code: 81058 });
  await create('TXT', 'a', 'HELLO');
  await create('TXT', 'a', 'l'.repeat(300));
  t.match(await refusal(create('TXT', 'a', 'l'.repeat(300))), { code: 81058 }, 'long ones, found by their hash');
  await create('MX', 'c', 'mail.test', { priority: 1 });
  await create('MX', 'c', 'mail.test', { priority: 2 });
  t.match(await refusal(create('MX', 'c', 'mail.test', { priority: 2 })), { code: 81058 });
  await create('NS', 'n', 'ns2.other.test');

  t.match(await refusal(create('DS', 'a', `1 13 2 ${'ab'.repeat(32)}`)), { status: 400, code: 1004 }, 'DS needs NS');
  t.match(await refusal(create('DS', '@', `1 13 2 ${'ab'.repeat(32)}`)), { status: 400, code: 1004 }, 'DS at the apex');
  t.match(await create('DS', 'n', `1 13 2 ${'ab'.repeat(32)}`), { type: 'DS' });
  t.match(await refusal(create('DNSKEY', 'below', '257 3 13 AAAA')), { status: 400, code: 1004 });

  await create('NS', '@', 'ns.other.test');
  await create('CNAME', '@', 'flat.test');
  t.match(await refusal(create('A', '@', '192.0.2.1')), { code: 81054 }, 'NS at the apex do not count, its CNAME does');
});

t.test('size and quota', async (t) => {
  const { ctx, zoneId } = await startZone(t, { limits: { ...DEFAULT_LIMITS, recordsPerZone: 6 } });
  for (const letter of 'abcd') {
    await createRecord(ctx, zoneId, { type: 'TXT', name: 't', content: letter.repeat(2000) });
  }
  t.match(await refusal(createRecord(ctx, zoneId, { type: 'TXT', name: 't', content: 'e'.repeat(2000) })), {
    code: 1004,
    message: /8192/,
  });
  await createRecord(ctx, zoneId, { type: 'A', name: 'a', content: '192.0.2.1' });
  await createRecord(ctx, zoneId, { type: 'A', name: 'a', content: '192.0.2.2' });
  const seventh = { type: 'A', name: 'a', content: '192.0.2.3' };
  t.match(await refusal(createRecord(ctx, zoneId, seventh)), { code: 81045, message: 'Record quota exceeded.' });
  t.match(await refusal(createRecord(ctx, zoneId, { ...seventh, content: '192.0.2.2' })), { code: 81058 }, 'last rule');
  const { items } = await listRecords(ctx, zoneId, { types: ['TXT'] });
  await applyBatch(ctx, zoneId, { deletes: [{ id: items[0]!.id }], posts: [seventh] });
  t.equal((await getZone(ctx, zoneId)).recordCount, 6, 'a batch counts its deletes');
});

t.test('PATCH keeps, PUT resets', async (t) => {
  const { ctx, zoneId, clock } = await startZone(t);
  const input = {
    type: 'A',
    name: 'www',
    content: '192.0.2.1',
    ttl: 300,
    comment: 'note',
    tags: ['a:b'],
    settings: { ipv4_only: true },
    private_routing: true,
  };
  const made = await createRecord(ctx, zoneId, input);
  const edit = (change: RecordInput): Promise<RecordItem> => editRecord(ctx, zoneId, made.id, change);
  const put = (change: RecordInput): Promise<RecordItem> => replaceRecord(ctx, zoneId, made.id, change);

  clock.advance(1000);
  const serial = (await getZone(ctx, zoneId)).soa.serial;
  t.same(await edit({}), made, 'nothing sent, nothing changed');
  t.same(await edit({ tags: null, data: null, content: null, settings: {}, priority: null } as RecordInput), made);
  t.same(await edit({ ...input, name: 'WWW.example.com' }), made, 'the same again');
  t.same(await put(input), made, 'with PUT too, and modified_on stays');
  t.equal((await getZone(ctx, zoneId)).soa.serial, serial);

  const changed = await edit({ content: '192.0.2.2' });
  t.match(changed, { content: '192.0.2.2', comment: 'note', tags: ['a:b'], settings: { ipv4_only: true }, ttl: 300 });
  t.equal(changed.createdAt, made.createdAt);
  t.ok(changed.modifiedAt > made.modifiedAt);
  t.equal(changed.commentModifiedAt, made.commentModifiedAt, 'the comment was not touched');
  t.equal((await getZone(ctx, zoneId)).soa.serial, serial + 1);

  clock.advance(1000);
  const commented = await edit({ comment: 'other' });
  t.ok(commented.commentModifiedAt! > made.commentModifiedAt!);
  t.equal((await getZone(ctx, zoneId)).soa.serial, serial + 1, 'a comment is not for resolvers');
  t.match(await edit({ comment: null }), { comment: null, commentModifiedAt: undefined });
  t.match(await edit({ tags: [] }), { tags: [], tagsModifiedAt: undefined });
  t.match(await edit({ tags: ['x:y'], comment: 'c' }), { tags: ['x:y'], comment: 'c' });
  t.match(await edit({ proxied: true }), { proxied: true, ttl: 1 });
  t.match(await refusal(edit({ content: '10.0.0.1' })), { code: 9003 }, 'still proxied');
  t.match(await edit({ proxied: false, ttl: 600 }), { proxied: false, ttl: 600 });
  t.match(await refusal(edit({ ttl: 5 })), { code: 9021 });
  t.match(await edit({ name: 'web' }), { name: 'web.example.com' });
  t.match(await edit({ settings: { ipv6_only: false } }), { settings: { ipv4_only: true, ipv6_only: false } });
  t.match(await edit({ type: 'AAAA', content: '2001:db8::1' }), { type: 'AAAA', content: '2001:db8::1' });
  t.match(await refusal(edit({ type: 'MX' })), { status: 400 }, 'the old content must fit the new type');

  const replaced = await put({ type: 'A', name: 'www', content: '192.0.2.9' });
  t.match(replaced, { id: made.id, ttl: 1, comment: null, tags: [], settings: {}, proxied: false });
  t.equal(replaced.privateRouting, undefined);
  t.match(await put({ content: '192.0.2.8' }), { name: 'www.example.com', type: 'A' }, 'name and type may be left out');
  for (const less of [{}, { type: 'A', name: 'www' }, { ttl: 60, data: null, content: null }] as RecordInput[]) {
    t.match(await refusal(put(less)), { status: 400, code: 9005 }, 'the value may not');
  }

  t.match(await refusal(getRecord(ctx, zoneId, 'f'.repeat(32))), {
    status: 404,
    code: 81044,
    message: 'Record does not exist.',
  });
  t.match(await refusal(editRecord(ctx, zoneId, 'nonsense', {})), { status: 404, code: 81044 });
  t.match(await deleteRecord(ctx, zoneId, made.id), { id: made.id });
  t.match(await refusal(deleteRecord(ctx, zoneId, made.id)), { status: 404, code: 81044 });
});

t.test('PATCH of structured types', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const data = { priority: 10, weight: 5, port: 5060, target: 'sip.example.com' };
  const srv = await createRecord(ctx, zoneId, { type: 'SRV', name: '_sip._tcp', data });
  t.match(await editRecord(ctx, zoneId, srv.id, { data: { port: 5061 } }), {
    content: '5 5061 sip.example.com',
    data: { ...data, port: 5061 },
  });
  t.match(await editRecord(ctx, zoneId, srv.id, { priority: 20 }), {
    priority: 20,
    data: { priority: 20, port: 5061 },
  });
  t.match(await editRecord(ctx, zoneId, srv.id, { content: '1 2 other.test' }), {
    priority: 20,
    data: { priority: 20, weight: 1, port: 2, target: 'other.test' },
  });
  const mx = await createRecord(ctx, zoneId, { type: 'MX', name: '@', content: 'a.test', priority: 5 });
  t.match(await editRecord(ctx, zoneId, mx.id, { content: 'b.test' }), { content: 'b.test', priority: 5 });
  t.match(await editRecord(ctx, zoneId, mx.id, { priority: 7 }), { content: 'b.test', priority: 7 });
  t.match(await refusal(editRecord(ctx, zoneId, mx.id, { priority: 70000 })), { status: 400 });
  const other = await createRecord(ctx, zoneId, { type: 'MX', name: '@', content: 'b.test', priority: 8 });
  t.match(await refusal(editRecord(ctx, zoneId, other.id, { priority: 7 })), { code: 81058 }, 'not into another one');
});

/** `1 . alpn=h2` with the addresses of the edge as hints. */
const EDGE_HTTPS = `0001000001000302683200040004c63364fa0006001020010db800000000000000000000ed9e`;

t.test('content together with data', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const a = await createRecord(ctx, zoneId, { type: 'A', name: 'a', content: '192.0.2.1', data: {} });
  // Some clients send an empty `data` with every change.
  for (const data of [{}, { flags: 1 }]) {
    const content = `192.0.2.${Object.keys(data).length + 2}`;
    t.match(await editRecord(ctx, zoneId, a.id, { type: 'A', name: 'a', content, data }), { content });
  }
  const data = { priority: 1, weight: 2, port: 3, target: 'host.example.com' };
  const srv = await createRecord(ctx, zoneId, { type: 'SRV', name: '_a._tcp', data, content: '2 3 host.example.com' });
  t.match(srv, { content: '2 3 host.example.com', priority: 1 });
  const edits = [
    [
      { content: '2 4 host.example.com', data: {} },
      { content: '2 4 host.example.com', priority: 1 },
    ],
    [{ data: { port: 5 } }, { content: '2 5 host.example.com', priority: 1 }],
    [
      { content: '2 6 HOST.example.com', data: { port: 6 } },
      { content: '2 6 host.example.com', priority: 1 },
    ],
  ] as const;
  for (const [input, expected] of edits) t.match(await editRecord(ctx, zoneId, srv.id, input), expected);
  const contradiction = await refusal(
    editRecord(ctx, zoneId, srv.id, { content: '2 7 host.example.com', data: { port: 8 } }),
  );
  t.match(contradiction, { status: 400, code: 9207, pointer: '/content' });
});

t.test('changes for resolvers reach the change log', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const changed = async (work: () => Promise<unknown>): Promise<string[]> => {
    const before = lastChange(ctx.store);
    await work();
    return changesAfter(ctx.store, before, 10).flatMap((change) => {
      t.equal(change.serial_to, (change.serial_from ?? 0) + 1);
      const rrs = rrsOfChange(ctx.store, change).filter(({ type }) => type !== Type.soa);
      return [
        change.complete === 1 ? change.kind : `part of ${change.kind}`,
        ...rrs.map(
          ({ op, type, ttl, rdata }) => `${op ? '+' : '-'}${type} ${ttl} ${Buffer.from(rdata).toString('hex')}`,
        ),
      ];
    });
  };
  const { seq } = findZoneByName(ctx.store, 'example.com')!;
  await commit(ctx, (draft) => draft.setCertifiedNames(seq, ['*.example.com']));
  const create = (input: RecordInput) => createRecord(ctx, zoneId, input);
  let id = '';
  t.same(
    await changed(async () => {
      id = (await create({ type: 'A', name: 'w', content: '192.0.2.1', ttl: 600 })).id;
    }),
    ['rrs', '+1 600 c0000201'],
  );
  t.same(
    await changed(() => create({ type: 'A', name: 'w', content: '192.0.2.2' })),
    ['rrs', '-1 600 c0000201', '+1 300 c0000201', '+1 300 c0000202'],
    'one TTL an RRset: the others change with it',
  );
  t.same(await changed(() => editRecord(ctx, zoneId, id, { name: 'v' })), [
    'rrs',
    '-1 300 c0000201',
    '+1 600 c0000201',
  ]);
  t.same(
    await changed(() => editRecord(ctx, zoneId, id, { proxied: true })),
    ['rrs', '-1 600 c0000201', '+1 300 c63364fa', '+28 300 20010db800000000000000000000ed9e', `+65 300 ${EDGE_HTTPS}`],
    'the addresses of the edge instead, and HTTPS with them',
  );
  t.same(await changed(() => editRecord(ctx, zoneId, id, { content: '192.0.2.77' })), [], 'the origin is not seen');
  t.same(await changed(() => editRecord(ctx, zoneId, id, { comment: 'x' })), []);
  t.same(await changed(() => deleteRecord(ctx, zoneId, id)), [
    'rrs',
    '-1 300 c63364fa',
    '-28 300 20010db800000000000000000000ed9e',
    `-65 300 ${EDGE_HTTPS}`,
  ]);
  const actions = latestEvents(ctx.store, 3);
  t.same(
    actions.map(({ kind }) => kind),
    ['record.delete', 'record.edit', 'record.edit'],
  );
  t.match(JSON.parse(actions[0]!.before!), { id, name: 'v.example.com' });
  t.equal(actions[0]!.after, null);
});

t.test('batch', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const make = (type: string, name: string, content: string) => createRecord(ctx, zoneId, { type, name, content });
  const cname = await make('CNAME', 'www', 'old.test');
  const a = await make('A', 'a', '192.0.2.1');
  const b = await make('A', 'b', '192.0.2.1');
  const before = lastChange(ctx.store);
  const result = await applyBatch(ctx, zoneId, {
    posts: [
      { type: 'A', name: 'www', content: '192.0.2.5' },
      { type: 'AAAA', name: 'www', content: '2001:db8::5' },
    ],
    puts: [{ id: b.id, type: 'A', name: 'b', content: '192.0.2.9' }],
    patches: [{ id: a.id, ttl: 120 }],
    deletes: [{ id: cname.id }],
  });
  t.match(result, {
    deletes: [{ id: cname.id, content: 'old.test' }],
    patches: [{ id: a.id, ttl: 120, content: '192.0.2.1' }],
    puts: [{ id: b.id, content: '192.0.2.9' }],
    posts: [{ name: 'www.example.com' }, { type: 'AAAA' }],
  });
  t.equal(lastChange(ctx.store), before + 1, 'one change');
  t.equal((await getZone(ctx, zoneId)).recordCount, 4);

  const state = async (): Promise<unknown> => [await listRecords(ctx, zoneId, {}), await getZone(ctx, zoneId)];
  const stateBefore = await state();
  t.match(
    await refusal(
      applyBatch(ctx, zoneId, {
        deletes: [{ id: a.id }],
        posts: [
          { type: 'A', name: 'n', content: '192.0.2.1' },
          { type: 'CNAME', name: 'n', content: 'x.test' },
        ],
      }),
    ),
    { code: 81053 },
  );
  t.match(await refusal(applyBatch(ctx, zoneId, { deletes: [{ id: a.id }, { id: a.id }] })), {
    status: 404,
    code: 81044,
  });
  t.match(await refusal(applyBatch(ctx, zoneId, { posts: new Array(3501).fill({}) })), { code: 9207 });
  t.same(await state(), stateBefore, 'all or nothing');
  t.same(await applyBatch(ctx, zoneId, {}), { deletes: [], patches: [], puts: [], posts: [] });
});

t.test('permissions', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const as = (actor: Partial<Context['actor']>): Context => ({
    ...ctx,
    actor: { ...ctx.actor, superAdministrator: false, accountIds: [], ...actor },
  });
  const account = (await getZone(ctx, zoneId)).account.id;
  const input = { type: 'A', name: 'a', content: '192.0.2.1' };
  const foreign = { status: 403, code: 10000, message: 'Authentication error' };
  t.match(await refusal(createRecord(as({}), zoneId, input)), { status: 404, code: 1001 });
  t.match(await refusal(listRecords(as({}), zoneId, {})), { status: 404, code: 1001 });
  t.match(await refusal(createRecord(as({ accountIds: [account], readOnly: true }), zoneId, input)), foreign);
  t.match(
    await refusal(createRecord(as({ accountIds: [account], zoneIds: ['0'.repeat(32)] }), zoneId, input)),
    foreign,
  );
  t.match(await refusal(createRecord(ctx, '0'.repeat(32), input)), {
    status: 404,
    code: 1001,
    message: 'Invalid zone identifier',
  });
  t.match(await createRecord(as({ accountIds: [account], zoneIds: [zoneId] }), zoneId, input), {
    name: 'a.example.com',
  });
  t.equal([...recordsOfZone(ctx.store, 1)].length, 1);
});
