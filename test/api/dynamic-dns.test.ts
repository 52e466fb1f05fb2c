/** DynDNS2 as routers speak it: words of the protocol for what is done, refused and not understood. */
import t from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import type { KeyInput } from '../../src/control/access/keys.js';
import { KEY as ADMINISTRATOR, type Cleanup, type InstallationOptions, install } from './installation.js';

interface Asked {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, unknown>>;
}

async function world(t: Cleanup, options: InstallationOptions = {}) {
  const installation = await install(t, options);
  const zone = await installation.createZone('example.com');
  const secretOf = async (input: Partial<KeyInput>): Promise<string> =>
    (await installation.token(input)).authorization.replace(/^Bearer /, '');
  const secret = await secretOf({ zoneIds: [zone] });
  const update = async (query: string, password = secret, from = '198.51.100.7'): Promise<Asked> => {
    const authorization = `Basic ${Buffer.from(`router:${password}`).toString('base64')}`;
    const { statusCode, body, headers } = await installation.app.inject({
      url: `/nic/update?${query}`,
      headers: { authorization, 'user-agent': 'Fritz!Box DDNS/1.0.1' },
      remoteAddress: from,
    });
    return { status: statusCode, text: body, headers };
  };
  const records = async (): Promise<string[]> => {
    const { json } = await installation.call('GET', `/zones/${zone}/dns_records?per_page=100`);
    return json.result
      .map(({ name, type, content, ttl, proxied }: Record<string, unknown>) =>
        [name, type, content, ttl, proxied].join(' '),
      )
      .sort();
  };
  const add = async (record: object): Promise<void> => {
    const { status, text } = await installation.call('POST', `/zones/${zone}/dns_records`, { ttl: 300, ...record });
    if (status !== 200) throw new Error(text);
  };
  return { ...installation, zone, secretOf, update, records, add };
}

t.test('addresses are made, changed, and left as they are', async (t) => {
  const { update, records, add } = await world(t);
  t.match(await update('hostname=home.example.com&myip=192.0.2.1'), {
    status: 200,
    text: 'good 192.0.2.1',
    headers: { 'content-type': /^text\/plain/ },
  });
  t.equal((await update('hostname=home.example.com&myip=192.0.2.1')).text, 'nochg 192.0.2.1');
  t.equal((await update('hostname=HOME.example.com.&myip=192.0.2.2')).text, 'good 192.0.2.2');
  t.equal((await update('hostname=home.example.com')).text, 'good 198.51.100.7', 'where the request comes from');
  t.equal((await update('hostname=home.example.com&myip=192.0.2.3,2001:db8::5')).text, 'good 192.0.2.3,2001:db8::5');
  t.equal((await update('hostname=home.example.com&myip=&myipv6=2001:db8::6')).text, 'good 2001:db8::6');
  t.strictSame(await records(), [
    'home.example.com A 192.0.2.3 60 false',
    'home.example.com AAAA 2001:db8::6 60 false',
  ]);
  await add({ type: 'A', name: 'shop', content: '192.0.2.9', proxied: true, ttl: 1 });
  t.equal(
    (await update('hostname=shop.example.com,home.example.com&myip=192.0.2.4')).text,
    'good 192.0.2.4\ngood 192.0.2.4',
  );
  t.ok((await records()).includes('shop.example.com A 192.0.2.4 1 true'), 'what is proxied stays so');
});

/**
 * Requests as firmware makes them. OPNsense: `dyndns2.py` of its plugin os-ddclient (opnsense/plugins, dns/ddclient/src/opnsense/scripts).
 * UniFi has inadyn with the path that its users enter, for custom services (`?hostname=%h&myip=%i`). FRITZ!Box: the placeholders of its
 * update URL are `<ipaddr>`, `<ip6addr>`, `<ip6lanprefix>`, `<username>`, `<pass>` and `<domain>`; nothing is escaped, one that is not
 * known is empty, and of two URLs with a space between them each is asked (https://service.avm.de/help/en/FRITZ-Box-Fon-WLAN-7490/018/hilfe_dyndns,
 * http://www.asheiduk.de/post/fritzbox-dyndns/).
 */
const ROUTERS: readonly (readonly [what: string, query: string, answer: string])[] = [
  ['OPNsense', 'hostname=home.example.com&myip=192.0.2.20&wildcard=NOCHG', 'good 192.0.2.20'],
  [
    'OPNsense, several hosts',
    'hostname=home.example.com%2Cnas.example.com&myip=192.0.2.20&wildcard=NOCHG',
    'nochg 192.0.2.20\ngood 192.0.2.20',
  ],
  ['UniFi', 'hostname=home.example.com&myip=192.0.2.21', 'good 192.0.2.21'],
  [
    'FRITZ!Box with both families',
    'hostname=home.example.com&myip=192.0.2.22&myipv6=2001:db8:7::1',
    'good 192.0.2.22,2001:db8:7::1',
  ],
  ['FRITZ!Box without IPv4', 'hostname=home.example.com&myip=&myipv6=2001:db8:7::2', 'good 2001:db8:7::2'],
  ['FRITZ!Box without IPv6', 'hostname=home.example.com&myip=192.0.2.23&myipv6=', 'good 192.0.2.23'],
  ['FRITZ!Box, a host behind it', 'hostname=home.example.com&myipv6=2001:db8:8::/64', 'good 2001:db8:8::2'],
];

t.test('what routers send', async (t) => {
  const { update } = await world(t);
  for (const [what, query, answer] of ROUTERS) {
    t.match(await update(query), { status: 200, text: answer, headers: { 'content-type': /^text\/plain/ } }, what);
  }
});

t.test('a prefix keeps the other bits', async (t) => {
  const { update, records, add } = await world(t);
  t.match((await update('hostname=nas.example.com&myipv6=2001:db8:5::/64')).text, /^dnserr a prefix needs/);
  await add({ type: 'AAAA', name: 'nas', content: '2001:db8:1:2:a:b:c:d' });
  t.equal((await update('hostname=nas.example.com&myipv6=2001:db8:5::/64')).text, 'good 2001:db8:5:0:a:b:c:d');
  t.equal((await update('hostname=nas.example.com&myipv6=2001:db8:5:ff00::/56')).text, 'good 2001:db8:5:ff00:a:b:c:d');
  t.equal((await update('hostname=nas.example.com&myipv6=2001:db8:5:ff00::/56')).text, 'nochg 2001:db8:5:ff00:a:b:c:d');
  t.strictSame(await records(), ['nas.example.com AAAA 2001:db8:5:ff00:a:b:c:d 300 false']);
});

t.test('what else stands at a name is never replaced', async (t) => {
  const { update, records, add } = await world(t);
  await add({ type: 'CNAME', name: 'alias', content: 'elsewhere.example' });
  await add({ type: 'A', name: 'two', content: '192.0.2.1' });
  await add({ type: 'A', name: 'two', content: '192.0.2.2' });
  await add({ type: 'TXT', name: 'two', content: '"stays"' });
  const before = await records();
  t.equal((await update('hostname=alias.example.com&myip=192.0.2.5')).text, 'dnserr the name is an alias');
  t.equal((await update('hostname=two.example.com&myip=192.0.2.5')).text, 'dnserr the name has 2 A records');
  t.match(
    (await update('hostname=two.example.com&myip=192.0.2.5&myipv6=2001:db8::1')).text,
    /^dnserr/,
    'all or nothing',
  );
  t.strictSame(await records(), before);
});

t.test('whose credential and which names', async (t) => {
  const { update, records, secretOf, createZone, zone, app } = await world(t);
  const other = await createZone('other.example');
  const foreign = await secretOf({ zoneIds: [other] });
  const reader = await secretOf({ zoneIds: [zone], readOnly: true });
  t.equal((await update('hostname=home.example.com&myip=192.0.2.1', foreign)).text, 'nohost');
  t.equal((await update('hostname=home.example.com&myip=192.0.2.1', reader)).text, 'nohost');
  t.match(await update('hostname=home.example.com&myip=192.0.2.1', 'x'.repeat(40)), {
    status: 401,
    text: 'badauth',
    headers: { 'www-authenticate': /^Basic/ },
  });
  t.match(await update('hostname=home.example.com&myip=192.0.2.1', 'short'), { status: 401, text: 'badauth' });
  for (const headers of [{}, { 'x-auth-email': 'admin@localhost', 'x-auth-key': ADMINISTRATOR }]) {
    const { statusCode, body } = await app.inject({ url: '/nic/update?hostname=home.example.com', headers });
    t.match({ statusCode, body }, { statusCode: 401, body: 'badauth' });
  }
  for (const host of ['home', '', '..', 'a b.example.com', '192.0.2.1', `${'x'.repeat(300)}.example.com`]) {
    t.equal((await update(`hostname=${encodeURIComponent(host)}&myip=192.0.2.1`)).text, 'notfqdn', host.slice(0, 20));
  }
  t.equal((await update('myip=192.0.2.1')).text, 'notfqdn');
  t.equal((await update('hostname=home.example.net&myip=192.0.2.1')).text, 'nohost');
  t.equal((await update(`hostname=${'h.example.com,'.repeat(21)}&myip=192.0.2.1`)).text, 'numhost');
  for (const address of ['nonsense', '192.0.2.256', '0.0.0.0', '::', '192.0.2.0/24', '192.0.2.1,192.0.2.2']) {
    t.match((await update(`hostname=home.example.com&myip=${address}`)).text, /^dnserr/, address);
  }
  const head = await app.inject({
    method: 'HEAD',
    url: '/nic/update?hostname=home.example.com',
    headers: { authorization: `Bearer ${foreign}` },
  });
  t.equal(head.statusCode, 405);
  t.strictSame(await records(), [], 'nothing was made');
});

t.test('of several zones of one name, the active one', async (t) => {
  const { update, records, operator, call } = await world(t);
  const { id } = await createAccount(operator, { name: 'other' });
  const { json } = await call('POST', '/zones', { name: 'example.com', account: { id } });
  t.equal(json.result.status, 'pending');
  t.equal((await update('hostname=home.example.com&myip=192.0.2.1', ADMINISTRATOR)).text, 'good 192.0.2.1');
  t.equal((await call('GET', `/zones/${json.result.id}/dns_records`)).json.result.length, 0);
  t.equal((await records()).length, 1);
});

t.test('too many requests', async (t) => {
  const { update } = await world(t, { rateLimit: 3 });
  for (let i = 0; i < 3; i++) t.match(await update('hostname=home.example.com'), { status: 200 });
  t.match(await update('hostname=home.example.com'), {
    status: 429,
    text: 'abuse',
    headers: { 'retry-after': String },
  });
});
