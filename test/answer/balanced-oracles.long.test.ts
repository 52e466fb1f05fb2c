/** Knot's geoip module and PowerDNS's Lua records, which know the same networks, weights and ports, answer what load balancers do. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parseNetwork, printIP } from '../../src/base/ip.js';
import { Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { APEX, type BalancedZone, startBalancedZone } from '../support/balanced-zone.js';
import { freePort } from '../support/free-ports.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { createPowerDns, withoutPowerDns } from '../support/power-dns.js';
import { askAll, endChild, launch, PROGRAMS, waitForAnswers } from '../support/reference-servers.js';
import { seededRandom } from '../support/seeded-random.js';
import { firstThat } from '../support/until.js';

const MODULE = '/usr/lib/x86_64-linux-gnu/knot/modules-3.2/geoip.so';
const isMissing = process.env['CI'] !== 'true' && (withoutPowerDns() !== false || !existsSync(PROGRAMS.knot));
const skip = isMissing || (process.env['CI'] !== 'true' && !existsSync(MODULE)) ? 'Knot or PowerDNS is missing' : false;

/** Networks inside of others come first, as PowerDNS takes the first that fits. */
const NETWORKS = [
  ['192.0.2.128/25', 'AU', '203.0.113.3'],
  ['192.0.2.0/24', 'DE', '203.0.113.2'],
  ['10.1.2.0/24', 'AU', '203.0.113.3'],
  ['10.1.0.0/16', 'DE', '203.0.113.2'],
  ['10.0.0.0/8', 'US', '203.0.113.4'],
  ['2001:db8:1::/48', 'AU', '203.0.113.3'],
  ['2001:db8::/32', 'DE', '203.0.113.2'],
] as const;
const ELSEWHERE = '203.0.113.1';
const WEIGHTS = { '203.0.113.11': 25, '203.0.113.12': 25, '203.0.113.13': 50 };
const DRAWS = 4000;

interface Peer {
  readonly name: string;
  readonly port: number;
}

async function startKnot(t: Test, directory: string): Promise<Peer> {
  const [port, log] = [await freePort(), join(directory, 'knot.log')];
  const [config, zone, networks, weights] = ['conf', 'zone', 'networks', 'weights'].map((name) =>
    join(directory, `knot.${name}`),
  ) as [string, string, string, string];
  const names = ['geo', 'weighted', 'up'].map((name) => `${name} 30 A ${ELSEWHERE}\n`).join('');
  writeFileSync(
    zone,
    `$ORIGIN ${APEX}.\n@ 60 SOA ns.${APEX}. x.${APEX}. 1 60 60 60 60\n@ 60 NS ns\nns 60 A 127.0.0.1\n${names}`,
  );
  const nets = NETWORKS.map(([network, , address]) => `  - net: ${network}\n    A: ${address}\n`).join('');
  writeFileSync(networks, `geo.${APEX}:\n${nets}`);
  const shares = Object.entries(WEIGHTS).map(([address, weight]) => `  - weight: ${weight}\n    A: ${address}\n`);
  writeFileSync(weights, `weighted.${APEX}:\n${shares.join('')}`);
  writeFileSync(
    config,
    `server:\n  listen: 127.0.0.1@${port}\n  rundir: ${directory}\n  udp-workers: 1\n  tcp-workers: 1\n  edns-client-subnet: on\ndatabase:\n  storage: ${directory}\n` +
      `mod-geoip:\n  - id: places\n    config-file: ${networks}\n    ttl: 30\n    mode: subnet\n` +
      `  - id: shares\n    config-file: ${weights}\n    ttl: 30\n    mode: weighted\n` +
      `zone:\n  - domain: ${APEX}\n    file: ${zone}\n    zonefile-sync: -1\n    journal-content: none\n    module: [mod-geoip/places, mod-geoip/shares]\n`,
  );
  const child = launch('knot', ['-c', config], log);
  t.teardown(() => endChild(child));
  await waitForAnswers('Knot', port, log);
  return { name: 'Knot', port };
}

async function startPowerDns(t: Test, directory: string, open: number): Promise<Peer> {
  const server = await createPowerDns(
    directory,
    'enable-lua-records=yes\nedns-subnet-processing=yes\ncache-ttl=0\nquery-cache-ttl=0\nlua-health-checks-interval=1\n',
  );
  const places = NETWORKS.map(([network, , address]) => `if netmask({'${network}'}) then return '${address}' end `);
  const shares = Object.entries(WEIGHTS).map(([address, weight]) => `{${weight},'${address}'}`);
  const zone = join(directory, 'pdns.zone');
  writeFileSync(
    zone,
    `$ORIGIN ${APEX}.\n@ 60 SOA ns.${APEX}. x.${APEX}. 1 60 60 60 60\n@ 60 NS ns.${APEX}.\nns 60 A 127.0.0.1\n` +
      `geo 30 LUA A ";${places.join('')}return '${ELSEWHERE}'"\n` +
      `weighted 30 LUA A "pickwrandom({${shares}})"\n` +
      `up 30 LUA A "ifportup(${open}, {'127.0.0.1', '127.0.0.2', '127.0.0.3'})"\n`,
  );
  server.util('load-zone', APEX, zone);
  await server.start();
  t.teardown(() => server.stop());
  return { name: 'PowerDNS', port: server.port };
}

interface From {
  readonly text: string;
  /** Data of the option. */
  readonly subnet: Buffer;
}

function fromNetwork(text: string): From {
  const { address, bits: prefix } = parseNetwork(text)!;
  const head = Buffer.of(0, address.length === 4 ? 1 : 2, prefix, 0);
  return { text, subnet: Buffer.concat([head, address.subarray(0, (prefix + 7) >> 3)]) };
}

/** Subnets in and around the networks, no wider than the widest of them that lies inside of another. */
function subnets(): From[] {
  const random = seededRandom(31);
  const drawn = Array.from({ length: 300 }, (_, i) => {
    const [a, b, c, d] = random.bytes(4) as unknown as [number, number, number, number];
    if (i % 3 === 0) return `2001:db${a % 8 === 0 ? 9 : 8}:${b % 3}:${c.toString(16)}00::/56`;
    if (i % 3 === 1) return `192.0.${a % 4 === 0 ? 3 : 2}.${d}/32`;
    return `${a % 4 === 0 ? 11 : 10}.${b % 3}.${c % 4}.${d}/32`;
  });
  return drawn.map(fromNetwork);
}

async function addressesOf(port: number, label: string, asked: readonly (Buffer | undefined)[]): Promise<string[]> {
  const name = parseName(`${label}.${APEX}.`);
  const queries = asked.map((data) => {
    const options = data ? Buffer.concat([Buffer.of(0, 8, 0, data.length), data]) : Buffer.alloc(0);
    return makeQuery(name, Type.a, { edns: 1232, options });
  });
  return (await askAll(port, queries)).map((message) => {
    const answer = message ? decodeMessage(message).answer : [];
    return answer.map(({ rdata }) => printIP(Buffer.from(rdata, 'hex'))).join(' ');
  });
}

async function startBalancers(t: Test): Promise<BalancedZone> {
  const world = await startBalancedZone(t);
  for (const [letter, address] of [
    ['h', ELSEWHERE],
    ['d', '203.0.113.2'],
    ['o', '203.0.113.3'],
    ['u', '203.0.113.4'],
  ] as const) {
    await world.pool(letter, [{ name: 'x', address }], {}, false);
  }
  const shares = Object.entries(WEIGHTS).map(([address, weight]) => ({ name: address, address, weight: weight / 100 }));
  await world.pool('w', shares, {}, false);
  await world.pool(
    'p',
    ['127.0.0.1', '127.0.0.2', '127.0.0.3'].map((address) => ({ name: address, address })),
  );
  const only = (letter: string) => ({ default_pools: [world.idOf(letter)], fallback_pool: world.idOf(letter) });
  await world.balancer('geo', {
    ...{ ...only('h'), steering_policy: 'geo', location_strategy: { prefer_ecs: 'always' } },
    country_pools: { DE: [world.idOf('d')], AU: [world.idOf('o')], US: [world.idOf('u')] },
  });
  await world.balancer('weighted', only('w'));
  await world.balancer('up', only('p'));
  const networks = NETWORKS.map(([network, country]) => `${network} ${country} WEU\n`).join('');
  world.writer.setPlaces({ version: 1, database: undefined, networks });
  return world;
}

t.test('the same networks, weights and ports', { skip, timeout: 300_000 }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-oracles-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  // One port, open at two of three addresses.
  const open = await freePort();
  for (const host of ['127.0.0.1', '127.0.0.3']) {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(open, host, resolve));
    t.teardown(() => server.close());
  }
  const world = await startBalancers(t);
  for (const [address, isUp] of [
    ['127.0.0.1', true],
    ['127.0.0.2', false],
    ['127.0.0.3', true],
  ] as const) {
    await world.health('p', address, isUp);
  }
  const [knot, powerDns] = [await startKnot(t, directory), await startPowerDns(t, directory, open)];

  const asked = subnets();
  const own = asked.map(({ subnet }) => world.addresses('geo', Type.a, { subnet: subnet.toString('hex') }).join(' '));
  t.equal(new Set(own).size, 4, 'every pool is answered');
  for (const { name, port } of [knot, powerDns]) {
    const theirs = await addressesOf(
      port,
      'geo',
      asked.map(({ subnet }) => subnet),
    );
    const different = asked.flatMap(({ text }, i) =>
      own[i] === theirs[i] ? [] : [`${text}: ${own[i]}, ${theirs[i]}`],
    );
    t.strictSame(different, [], `${name}, for ${asked.length} subnets`);
  }

  const draws = Array.from({ length: DRAWS }, () => undefined);
  const drawn = {
    here: draws.map(() => world.addresses('weighted').join(' ')),
    Knot: await addressesOf(knot.port, 'weighted', draws),
    PowerDNS: await addressesOf(powerDns.port, 'weighted', draws),
  };
  for (const [name, addresses] of Object.entries(drawn)) {
    for (const [address, weight] of Object.entries(WEIGHTS)) {
      const [share, count] = [weight / 100, addresses.filter((one) => one === address).length];
      const sigma = Math.sqrt(DRAWS * share * (1 - share));
      t.ok(Math.abs(count - DRAWS * share) < 5 * sigma, `${name}: ${address} ${count} times of ${DRAWS * share}`);
    }
  }

  const few = draws.slice(0, 60);
  const up = ['127.0.0.1', '127.0.0.3'];
  t.strictSame([...new Set(few.flatMap(() => world.addresses('up')))].sort(), up);
  await firstThat(
    async () => [...new Set(await addressesOf(powerDns.port, 'up', few))].sort(),
    (seen) => seen.join() === up.join(),
    { what: 'PowerDNS answers the addresses that are up' },
  );
});
