/** Networks of settings, ACLs and tokens: which texts are one, and which addresses are in it. */
import t from 'tap';
import { parseCidrSet, parseIP, parseNetwork, printIP, storedCidrSet } from '../../src/base/ip.js';
import { isWithin } from '../../src/control/access/networks.js';

const printed = (text: string): string | undefined => {
  const network = parseNetwork(text);
  return network && `${printIP(network.address)}/${network.bits}`;
};

t.test('texts that are networks', async (t) => {
  const rows: Readonly<Record<string, string>> = {
    '192.0.2.1': '192.0.2.1/32',
    '10.0.0.0/8': '10.0.0.0/8',
    '0.0.0.0/0': '0.0.0.0/0',
    '2001:db8::/32': '2001:db8::/32',
    '::1': '::1/128',
    '::/0': '::/0',
    '::10.0.0.1/128': '::a00:1/128',
    '::ffff:10.0.0.0/104': '10.0.0.0/8',
    '::ffff:10.0.0.1': '10.0.0.1/32',
  };
  for (const [text, network] of Object.entries(rows)) t.equal(printed(text), network, text);
});

t.test('notations that others read in another way are refused', async (t) => {
  const refused = ['010.0.0.0/8', '0x0a.0.0.0/8', '10/8', '10.1/16', '167772160/8', '167772160', 'fe80::%eth0/64'];
  for (const text of [
    ...refused,
    '10.0.0.0/08',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '/8',
    '::/129',
    '',
    ' ::1',
  ]) {
    t.equal(printed(text), undefined, text);
    t.throws(() => parseCidrSet(['192.0.2.1', text]), new RangeError(`'${text}' is not an address or network`), text);
  }
});

t.test('addresses in networks', async (t) => {
  const set = parseCidrSet(['192.0.2.128/25', '198.51.100.7', '2001:db8::/33', '::ffff:203.0.113.0/120']);
  const inside = [
    '192.0.2.128',
    '192.0.2.255',
    '198.51.100.7',
    '2001:db8:7fff::1',
    '203.0.113.9',
    '::ffff:192.0.2.200',
  ];
  const outside = [
    '192.0.2.127',
    '198.51.100.6',
    '2001:db8:8000::1',
    '203.0.114.0',
    '::ffff:192.0.2.1',
    '::192.0.2.200',
  ];
  for (const text of inside) t.ok(set.contains(parseIP(text)!), text);
  for (const text of outside) t.notOk(set.contains(parseIP(text)!), text);
  t.notOk(parseCidrSet([]).contains(parseIP('192.0.2.1')!));
});

t.test('networks that were stored in a notation that is refused today', async (t) => {
  t.strictSame(storedCidrSet(['010.0.0.0/8', '192.0.2.0/24']).texts, ['192.0.2.0/24']);
  t.ok(isWithin({ in: ['010.0.0.0/8', '192.0.2.0/24'], notIn: [] }, '192.0.2.1'));
  t.notOk(isWithin({ in: ['010.0.0.0/8'], notIn: [] }, '8.0.0.1'), 'allow nothing');
  t.notOk(isWithin({ in: [], notIn: ['010.0.0.0/8'] }, '192.0.2.1'), 'and forbid everything');
  t.notOk(isWithin({ in: [], notIn: ['::ffff:192.0.2.0/120'] }, '192.0.2.1'));
});
