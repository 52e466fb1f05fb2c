/** Response rate limiting: who is limited, by what, and what real clients still receive. The test sets the time. */
import t from 'tap';
import { createRateMemory, type RateLimitSettings, readRateTally } from '../../src/answer/rate-limit.js';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { createClient, Transport, type TransportCode } from '../../src/answer/transport.js';
import { parseIP, parseNetwork } from '../../src/base/ip.js';
import { parseName } from '../../src/dns/name.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { serveZones } from '../support/served-zones.js';

const ZONES = [
  {
    apex: 'example.com.',
    text: `$ORIGIN example.com.
$TTL 60
@ SOA ns h 1 3600 600 86400 60
@ NS ns
ns A 192.0.2.1
www A 192.0.2.2
*.wild A 192.0.2.3
sub NS ns.sub
ns.sub A 192.0.2.4
from DNAME ns
`,
  },
  {
    apex: 'example.net.',
    text: '$ORIGIN example.net.\n$TTL 60\n@ SOA ns h 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n',
  },
];
const SECRET = 'e5e973e5a6b2a43f48e7dc849e37bfcf';
const RATE = 10;

interface Ask {
  readonly name?: string;
  readonly from?: string;
  readonly at?: number;
  readonly transport?: TransportCode;
  readonly options?: Buffer;
}

type Outcome = 'sent' | 'truncated' | 'dropped';

function limited(change: Partial<RateLimitSettings> = {}) {
  const rateLimit = { rate: RATE, slip: 2, exempt: [], memory: createRateMemory(), seed: 20261121, ...change };
  const cookieSecrets = [new Uint8Array(Buffer.from(SECRET, 'hex'))];
  const { answer } = serveZones(ZONES, { ...DEFAULT_ENGINE_SETTINGS, cookieSecrets, rateLimit });
  const out = Buffer.alloc(4096);
  const ask = ({ name = 'www.example.com.', from = '198.51.100.7', at = 1000, transport = 0, options }: Ask) => {
    const query = makeQuery(parseName(name), 1, { edns: 1232, ...(options && { options }) });
    const source = parseIP(from)!;
    const client = { ...createClient(), source, length: source.length, seconds: at };
    const length = answer(query, 0, query.length, out, 0, out.length, transport, client);
    return length === 0 ? undefined : Buffer.from(out.subarray(0, length));
  };
  const outcome = (how: Ask): Outcome => {
    const octets = ask(how);
    if (!octets) return 'dropped';
    return (octets.readUInt16BE(2) & 0x0200) !== 0 ? 'truncated' : 'sent';
  };
  /** How many of so many equal (or numbered) questions came to what. */
  const flood = (count: number, how: (i: number) => Ask): Record<Outcome, number> => {
    const sums = { sent: 0, truncated: 0, dropped: 0 };
    for (let i = 0; i < count; i++) sums[outcome(how(i))] += 1;
    return sums;
  };
  return { ask, outcome, flood, memory: rateLimit.memory };
}

t.test('one name, one network', async (t) => {
  const { flood, outcome, ask, memory } = limited();
  t.strictSame(
    flood(RATE, () => ({})),
    { sent: RATE, truncated: 0, dropped: 0 },
    'up to the rate',
  );
  t.strictSame(
    flood(100, () => ({})),
    { sent: 0, truncated: 50, dropped: 50 },
    'beyond it, every second one comes short',
  );
  t.strictSame(readRateTally(memory), { dropped: 50, truncated: 50 });
  t.equal(outcome({ from: '198.51.100.200' }), 'dropped', 'its neighbours are the same network');
  t.equal(outcome({ from: '198.51.101.7' }), 'sent', 'others are not');
  t.equal(outcome({ name: 'ns.example.com.' }), 'sent', 'nor are other names');
  const short = ask({})!;
  t.match(decodeMessage(short), { rcode: 0, answer: [], authority: [] }, 'a short answer is header, question and OPT');
  t.ok(short.length <= 60, 'and amplifies nothing');
  t.strictSame(
    flood(RATE + 2, () => ({ at: 1001 })),
    { sent: 0, truncated: 6, dropped: 6 },
    'a second later it is still too much',
  );
  t.strictSame(
    flood(RATE, () => ({ at: 1004 })),
    { sent: RATE, truncated: 0, dropped: 0 },
    'silence makes good',
  );
});

t.test('streams and cookies are not limited', async (t) => {
  const { flood, ask } = limited();
  flood(30, () => ({}));
  t.strictSame(
    flood(100, () => ({ transport: Transport.tcp })),
    { sent: 100, truncated: 0, dropped: 0 },
  );
  const clientCookie = Buffer.from('2464c4abcf10c957', 'hex');
  const option = (data: Buffer) => Buffer.from([0, 10, 0, data.length, ...data]);
  t.strictSame(
    flood(10, () => ({ options: option(clientCookie) })).sent,
    0,
    'a cookie of the client alone proves nothing',
  );
  const given = decodeMessage(ask({ options: option(clientCookie), transport: Transport.tcp })!).opt!.options;
  const options = option(given.subarray(4, 28));
  t.strictSame(
    flood(100, () => ({ options })),
    { sent: 100, truncated: 0, dropped: 0 },
    'ours shows where it is',
  );
  t.equal(flood(20, () => ({ options, from: '203.0.113.1' })).sent, RATE, 'stolen, it is worth nothing');
});

t.test('invented names', async (t) => {
  const rows: readonly (readonly [what: string, name: (i: number) => string])[] = [
    ['NXDOMAIN', (i) => `x${i}.example.com.`],
    ['a wildcard', (i) => `x${i}.wild.example.com.`],
    ['a referral', (i) => `x${i}.sub.example.com.`],
    ['below a DNAME', (i) => `x${i}.from.example.com.`],
    ['refused', (i) => `x${i}.example.org.`],
  ];
  for (const [what, name] of rows) {
    const { flood, outcome } = limited();
    const { sent } = flood(200, (i) => ({ name: name(i) }));
    t.equal(sent, RATE, `${what}: other names are no way around`);
    t.equal(outcome({}), 'sent', `${what}: names that are there are not held back with them`);
  }
  const { flood } = limited();
  flood(200, (i) => ({ name: `x${i}.example.com.` }));
  t.equal(flood(RATE, (i) => ({ name: `x${i}.example.net.` })).sent, RATE, 'another zone is another matter');
});

t.test('networks, slip, exemptions', async (t) => {
  const six = limited();
  six.flood(30, () => ({ from: '2001:db8:0:1200::1' }));
  t.not(six.outcome({ from: '2001:db8:0:12ff::9' }), 'sent', '/56');
  t.equal(six.outcome({ from: '2001:db8:0:1300::1' }), 'sent');
  const none = limited({ slip: 0 });
  t.strictSame(
    none.flood(50, () => ({})),
    { sent: RATE, truncated: 0, dropped: 50 - RATE },
  );
  const all = limited({ slip: 1 });
  t.strictSame(
    all.flood(50, () => ({})),
    { sent: RATE, truncated: 50 - RATE, dropped: 0 },
  );
  const exempt = ['198.51.100.0/25', '2001:db8::/33'].map((text) => parseNetwork(text)!);
  const some = limited({ exempt });
  t.equal(some.flood(100, () => ({})).sent, 100);
  t.equal(some.flood(100, () => ({ from: '198.51.100.128' })).sent, 0, 'its other half shares the place, and is over');
  t.equal(some.flood(100, () => ({ from: '2001:db8:7fff::' })).sent, 100);
  t.equal(some.flood(100, () => ({ from: '2001:db8:8000::' })).sent, RATE);
});

t.test('networks do not affect each other', async (t) => {
  const { flood } = limited();
  let sent = 0;
  for (let i = 0; i < 2000; i++) sent += flood(RATE, () => ({ from: `10.${i >> 8}.${i & 255}.1` })).sent;
  t.equal(sent, 2000 * RATE, 'nobody is held back for what others do');
});
