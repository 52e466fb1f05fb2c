/** Steering by the place of the asker: client subnets (RFC 7871), addresses, own networks, a database, and rules. */
import t, { type Test } from 'tap';
import { createRecord } from '../../src/control/records/records.js';
import { Rcode, Type } from '../../src/dns/codes.js';
import { codeOf } from '../../src/steering/layout.js';
import { APEX, type BalancedZone, startBalancedZone } from '../support/balanced-zone.js';
import type { DecodedMessage } from '../support/message.js';
import { writeMmdb } from '../support/mmdb.js';

const DATABASE = writeMmdb({
  '192.0.2.0/25': { country: { iso_code: 'DE' }, location: { latitude: 50.1, longitude: 8.7 } },
  '192.0.2.128/25': { country: { iso_code: 'AU' }, location: { latitude: -33.9, longitude: 151.2 } },
  '2001:db8::/33': { country: { iso_code: 'AU' } },
});

function shared(file: Buffer): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(file.length);
  Buffer.from(memory).set(file);
  return memory;
}

/** Pools h (here), d (Germany) and o (Australia), and a name `geo` that steers by country; this server is in Northern America. */
async function start(t: Test, echoesSubnets = false): Promise<BalancedZone> {
  const own = { pop: codeOf('IAD'), region: codeOf('ENAM') };
  const world = await startBalancedZone(t, { own, echoesSubnets });
  await world.pool('h', [{ name: 'o', address: '203.0.113.1' }], {}, false);
  await world.pool('d', [{ name: 'o', address: '203.0.113.2' }], { latitude: 50, longitude: 8 }, false);
  await world.pool('o', [{ name: 'o', address: '203.0.113.3' }], { latitude: -34, longitude: 151 }, false);
  await world.balancer('geo', {
    ...{ default_pools: [world.idOf('h')], fallback_pool: world.idOf('h'), steering_policy: 'geo' },
    country_pools: { DE: [world.idOf('d')], AU: [world.idOf('o')] },
    location_strategy: { mode: 'pop', prefer_ecs: 'geo' },
  });
  await createRecord(world.ctx, world.zoneId, { name: `plain.${APEX}`, type: 'A', content: '203.0.113.9', ttl: 60 });
  world.follower.catchUp();
  world.writer.setPlaces({ version: 1, database: shared(DATABASE), networks: '10.1.0.0/16 DE WEU\n' });
  return world;
}

/** Family 1 and a prefix of 192.0.2.x, such as `0001 18 00 c00002`. */
const subnet = (octets: string, source: number, family = 1): string =>
  `000${family}${source.toString(16).padStart(2, '0')}00${octets}`;

/** The scope of the option in an answer; undefined without it. */
function scopeOf({ opt }: DecodedMessage): number | undefined {
  const options = opt!.options;
  for (let at = 0; at < options.length; at += 4 + options.readUInt16BE(at + 2)) {
    if (options.readUInt16BE(at) === 8) return options[at + 4 + 3];
  }
  return undefined;
}

t.test('the client subnet says where the asker is, and the scope how far that holds', async (t) => {
  const world = await start(t);
  const look = (data: string): string => {
    const message = world.ask('geo', Type.a, { subnet: data });
    return `${world.addresses('geo', Type.a, { subnet: data })} /${scopeOf(message)}`;
  };
  t.equal(
    look(subnet('c00002', 24)),
    '203.0.113.2 /25',
    'the first half of it, and the scope tells that the other differs',
  );
  t.equal(look(subnet('c0000281', 32)), '203.0.113.3 /25');
  t.equal(look(subnet('0a0105', 24)), '203.0.113.2 /16', 'an own network');
  t.equal(look(subnet('20010db8', 32, 2)), '203.0.113.3 /33');
  t.equal(look(subnet('', 0)), '203.0.113.1 /0', 'the asker wants nothing to be told: the place of this server');
  t.equal(look('00000000'), '203.0.113.1 /0', 'no family');
  const unknown = world.ask('geo', Type.a, { subnet: subnet('cb0071', 24) });
  t.ok(scopeOf(unknown)! > 0, 'others near it are known');
  const echo = world.ask('geo', Type.a, { subnet: subnet('c00002', 24) }).opt!.options.toString('hex');
  t.equal(echo, '00080007000118' + '19' + 'c00002');
  t.strictSame(world.addresses('geo'), ['203.0.113.1'], 'without it, the place of this server');
});

const MALFORMED = {
  'shorter than its header': '000118',
  empty: '',
  'too few octets': subnet('c000', 24),
  'too many octets': subnet('c0000200', 24),
  'bits behind the prefix': subnet('c00003', 23),
  'a scope': '00011818c00002',
  'a prefix of 33 bits': subnet('c000020000', 33),
  'a prefix of 129 bits': subnet('00'.repeat(17), 129, 2),
  'an unknown family': subnet('c00002', 24, 3),
  'no family, with an address': '00001800c00002',
};

t.test('every malformed client subnet is a format error, where an answer depends on it', async (t) => {
  const world = await start(t);
  for (const [what, data] of Object.entries(MALFORMED)) {
    const { rcode, answer, opt } = world.ask('geo', Type.a, { subnet: data });
    t.strictSame([rcode, answer.length, opt?.options.length], [Rcode.formErr, 0, 0], what);
    const plain = world.ask('plain', Type.a, { subnet: data });
    t.strictSame(
      [plain.rcode, plain.answer.length, plain.opt?.options.length],
      [0, 1, 0],
      `${what}: no matter elsewhere`,
    );
  }
});

t.test('other names answer octet for octet as without the option', async (t) => {
  const world = await start(t);
  await world.balancer('off', { default_pools: [world.idOf('h')], fallback_pool: world.idOf('h') });
  for (const label of ['plain', 'missing', 'off']) {
    const [with_, without] = [{ subnet: subnet('c00002', 24) }, {}].map((how) => world.ask(label, Type.a, how));
    t.strictSame(with_, without, label);
  }
});

t.test('every answer echoes a client subnet where that is wanted', async (t) => {
  const world = await start(t, true);
  await world.balancer('off', { default_pools: [world.idOf('h')], fallback_pool: world.idOf('h') });
  await createRecord(world.ctx, world.zoneId, {
    name: `alias.${APEX}`,
    type: 'CNAME',
    content: `geo.${APEX}`,
    ttl: 60,
  });
  world.follower.catchUp();
  const scopes = ['plain', 'missing', 'off', 'geo', 'alias'].map((label) =>
    scopeOf(world.ask(label, Type.a, { subnet: subnet('c00002', 24) })),
  );
  t.strictSame(scopes, [0, 0, 0, 25, 25], 'with scope 0 where nothing depends on it');
  t.strictSame(world.addresses('geo', Type.a, { subnet: subnet('c00002', 24) }), ['203.0.113.2']);
  t.equal(scopeOf(world.ask('plain')), undefined, 'a client that did not send it does not get it');
  for (const [what, data] of Object.entries(MALFORMED)) {
    const { rcode, answer, opt } = world.ask('plain', Type.a, { subnet: data });
    t.strictSame([rcode, answer.length, opt?.options.length], [Rcode.formErr, 0, 0], what);
  }
  const [whole, tight] = [65_535, 12 + 24 + 16 + 11 + 11 - 1].map((limit) =>
    world.ask('plain', Type.a, { subnet: subnet('c00002', 24), limit }),
  );
  t.strictSame([whole!.tc, tight!.tc, scopeOf(tight!)], [false, true, 0], 'its octets are counted');
});

t.test('the address of the asker counts if that is wanted', async (t) => {
  const world = await start(t);
  const lists = {
    default_pools: ['h', 'd', 'o'].map(world.idOf),
    fallback_pool: world.idOf('h'),
    steering_policy: 'proximity',
  };
  await world.balancer('near', { ...lists, location_strategy: { mode: 'resolver_ip', prefer_ecs: 'proximity' } });
  t.strictSame(world.addresses('near', Type.a, { from: '192.0.2.7' }), ['203.0.113.2']);
  t.strictSame(world.addresses('near', Type.a, { from: '192.0.2.200' }), ['203.0.113.3']);
  const told = { from: '192.0.2.200', subnet: subnet('c00002', 24) };
  t.strictSame(world.addresses('near', Type.a, told), ['203.0.113.2'], 'the subnet beats the address');
  await world.balancer('near', { ...lists, location_strategy: { mode: 'resolver_ip', prefer_ecs: 'never' } });
  t.strictSame(world.addresses('near', Type.a, told), ['203.0.113.3']);
  t.equal(scopeOf(world.ask('near', Type.a, told)), 0, 'it was not used');
});

t.test('a replaced database is used at once, by every reader', async (t) => {
  const world = await start(t);
  const how = { subnet: subnet('c00002', 24) };
  t.strictSame(world.addresses('geo', Type.a, how), ['203.0.113.2']);
  world.writer.setPlaces({
    version: 2,
    database: shared(writeMmdb({ '192.0.2.0/24': { country: { iso_code: 'AU' } } })),
  });
  t.strictSame(world.addresses('geo', Type.a, how), ['203.0.113.3']);
  t.equal(scopeOf(world.ask('geo', Type.a, how)), 24);
  t.strictSame(world.addresses('plain'), ['203.0.113.9']);
  world.writer.setPlaces(undefined);
  t.strictSame(world.addresses('geo', Type.a, how), ['203.0.113.1']);
});

t.test('rules judge questions', async (t) => {
  const world = await start(t);
  const [h, d, o] = ['h', 'd', 'o'].map(world.idOf) as [string, string, string];
  await world.balancer('ruled', {
    ...{ default_pools: [h], fallback_pool: h, ttl: 60 },
    rules: [
      { name: 'types', condition: 'dns.qry.type eq 28', priority: 2, fixed_response: { message_body: 'x' } },
      { name: 'local', condition: 'ip.src in {192.0.2.0/24}', priority: 0, overrides: { default_pools: [d], ttl: 10 } },
      {
        name: 'subnet',
        condition: 'dns.rr.opt.client.addr in {10.0.0.0/8}',
        priority: 1,
        terminates: true,
        overrides: { default_pools: [o] },
      },
      {
        name: 'name',
        condition: `dns.qry.name eq "ruled.${APEX}" and cf.load_balancer.name ne dns.qry.name`,
        disabled: true,
      },
      {
        name: 'http',
        condition: 'not http.host eq "x" and http.host ne "x"',
        priority: 3,
        overrides: { default_pools: [o] },
      },
    ],
  });
  t.strictSame(world.addresses('ruled'), ['203.0.113.1']);
  t.equal(world.ask('ruled').answer[0]!.ttl, 60);
  t.strictSame(world.addresses('ruled', Type.a, { from: '192.0.2.7' }), ['203.0.113.2']);
  t.equal(world.ask('ruled', Type.a, { from: '192.0.2.7' }).answer[0]!.ttl, 10, 'a rule has its own TTL');
  const told = { subnet: subnet('0a0000', 24) };
  t.strictSame(world.addresses('ruled', Type.a, told), ['203.0.113.3']);
  t.equal(scopeOf(world.ask('ruled', Type.a, told)), 24, 'another subnet may get another answer');
  t.equal(scopeOf(world.ask('ruled', Type.a, { subnet: subnet('', 0) })), 0, 'a subnet of no bits decides nothing');
  const fixed = world.ask('ruled', Type.aaaa);
  t.strictSame([fixed.rcode, fixed.answer.length], [0, 0], 'a fixed response is an answer without records');
});
