/** The rule of reach: what may be connected to, in every form in which an address can be written. */
import { networkInterfaces } from 'node:os';
import t from 'tap';
import { parseIP } from '../../src/base/ip.js';
import { type AllowedNetwork, mayReach, PURPOSES } from '../../src/egress/egress.js';
import { createOwnListeners, type Listener } from '../../src/egress/own-listeners.js';
import { egressTo } from '../support/egress.js';
import { TestClock } from '../support/test-clock.js';

const ADMIN: Listener = { host: '127.0.0.1', port: 8053, place: 'here' };
const DNS: Listener = { host: '127.0.0.1', port: 53, place: 'dns' };
const EVERYWHERE = ['0.0.0.0/0', '::/0'];

/** Addresses that are not public, in their forms. */
const NOT_PUBLIC = [
  ...['0.0.0.0', '0.1.2.3', '10.0.0.5', '127.0.0.1', '127.255.255.254', '169.254.169.254', '172.16.0.1', '192.168.1.1'],
  ...['100.64.0.1', '100.100.100.200', '168.63.129.16', '192.0.0.192', '198.18.0.1', '224.0.0.1', '240.0.0.1'],
  ...['255.255.255.255', '::', '::1', 'fe80::1', 'fec0::1', 'fc00::1', 'fd00:ec2::254', 'ff02::1', '100::', '4000::1'],
  ...['::ffff:127.0.0.1', '::ffff:10.0.0.5', '::ffff:7f00:1', '::127.0.0.1', '::7f00:1', '64:ff9b::127.0.0.1'],
  ...['64:ff9b::7f00:1', '64:ff9b:1::7f00:1', '64:ff9b:1:7f00:0:100::', '::ffff:0:127.0.0.1', '2002:7f00:1::1'],
  ...['2001:0:5db8:d822:0:0:80ff:fffe', '64:ff9b::8.8.8.8', '2002:808:808::1'],
];

t.test('only public addresses are reached, for no purpose others', async (t) => {
  const egress = egressTo(new TestClock(), []);
  for (const purpose of PURPOSES) {
    for (const address of NOT_PUBLIC) t.type(egress.refusal(purpose, address, 80), 'string', `${purpose} ${address}`);
    for (const address of ['192.0.2.1', '8.8.8.8', '2606:4700::1111', '2001:db8::1', '::ffff:8.8.8.8']) {
      t.equal(egress.refusal(purpose, address, 80), undefined, `${purpose} ${address}`);
    }
  }
});

t.test('what is not an address is refused', async (t) => {
  const egress = egressTo(new TestClock(), EVERYWHERE);
  const texts = ['2130706433', '0x7f.1', '0177.0.0.1', '127.1', '127.0.0.01', 'fe80::1%eth0', '[::1]', 'localhost', ''];
  for (const text of [...texts, '/var/run/docker.sock', '127.0.0.1.', ' 127.0.0.1', '1.2.3.4.5', '٣.1.1.1']) {
    t.match(egress.refusal('origins', text, 80), /is not an address$/, text);
  }
});

t.test('a network is allowed for its purposes', async (t) => {
  const network = { address: parseIP('10.0.0.0')!, bits: 8 };
  const allowed: readonly AllowedNetwork[] = [{ network, purposes: ['origins'] }];
  const address = parseIP('10.0.0.5')!;
  t.ok(mayReach(allowed, 'origins', address));
  t.ok(mayReach(allowed, 'origins', parseIP('::ffff:10.0.0.5')!), 'as an IPv4-mapped address');
  t.notOk(mayReach(allowed, 'transfers', address));
  t.notOk(mayReach(allowed, 'origins', parseIP('11.0.0.5')!.fill(192, 0, 1)));
  t.notOk(mayReach(allowed, 'origins', parseIP('64:ff9b::10.0.0.5')!), 'not through a translator that is not allowed');
});

t.test('an address behind a translator must be allowed, and so must the translator', async (t) => {
  const translator = { network: { address: parseIP('64:ff9b::')!, bits: 96 }, purposes: PURPOSES };
  t.ok(mayReach([translator], 'origins', parseIP('64:ff9b::8.8.8.8')!));
  t.notOk(mayReach([translator], 'origins', parseIP('64:ff9b::127.0.0.1')!));
});

t.test('the operator names private and loopback addresses, but no special ones', async (t) => {
  const egress = egressTo(new TestClock(), []);
  const near = [
    '10.0.0.5',
    '172.31.0.1',
    '192.168.1.1',
    '100.64.0.1',
    'fd12::1',
    '::ffff:10.0.0.5',
    '127.0.0.1',
    '::1',
  ];
  for (const address of near) {
    t.equal(egress.refusal('transfers', address, 53, 'operator'), undefined, address);
  }
  const special = ['169.254.169.254', '100.100.100.200', 'fd00:ec2::254', 'fe80::1', '224.0.0.1'];
  for (const address of [...special, '255.255.255.255', '0.0.0.0', '::', '168.63.129.16', '64:ff9b::10.0.0.5']) {
    t.type(egress.refusal('transfers', address, 53, 'operator'), 'string', address);
  }
});

t.test('nothing leads to a listener of this installation, whatever is allowed', async (t) => {
  const egress = egressTo(new TestClock(), EVERYWHERE, [ADMIN]);
  const own = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
  const forms = ['127.0.0.1', '127.0.0.2', '::1', '0.0.0.0', '::', '::ffff:127.0.0.1', '::ffff:0.0.0.0', '::127.0.0.1'];
  const carried = ['64:ff9b::127.0.0.1', '64:ff9b:1::127.0.0.1', '2002:7f00:1::1', '::ffff:0:127.0.0.1'];
  for (const address of [...forms, ...carried, ...own.filter((text) => !text.includes('%'))]) {
    t.match(egress.refusal('origins', address, 8053, 'operator'), /is a listener of this installation/, address);
  }
  t.equal(egress.refusal('origins', '127.0.0.1', 8054), undefined);
  t.equal(egress.refusal('origins', '192.0.2.1', 8053), undefined, 'another machine may use the port');
  t.match(egress.refusal('origins', '0.0.0.0', 8054), /is the address of no server/);
  t.match(egress.refusal('origins', '::', 8054), /is the address of no server/);
});

t.test('name servers of one machine share a port at different addresses', async (t) => {
  const egress = egressTo(new TestClock(), EVERYWHERE, [DNS]);
  t.match(egress.refusal('transfers', '127.0.0.1', 53), /is a listener/);
  t.match(egress.refusal('transfers', '0.0.0.0', 53), /is a listener/);
  t.equal(egress.refusal('transfers', '127.0.0.2', 53), undefined);
  const all = egressTo(new TestClock(), EVERYWHERE, [{ ...DNS, host: '::' }]);
  for (const address of ['127.0.0.1', '127.0.0.2', '::1'])
    t.match(all.refusal('transfers', address, 53), /is a listener/);
});

t.test('listeners elsewhere count at their address', async (t) => {
  const node: Listener = { host: '10.0.0.2', port: 8053, place: 'elsewhere' };
  const egress = egressTo(new TestClock(), EVERYWHERE, [node]);
  for (const address of ['10.0.0.2', '::ffff:10.0.0.2', '64:ff9b::10.0.0.2']) {
    t.match(egress.refusal('origins', address, 8053), /is a listener/, address);
  }
  for (const address of ['10.0.0.3', '127.0.0.1'])
    t.equal(egress.refusal('origins', address, 8053), undefined, address);
});

t.test('what listens later is known a second later', async (t) => {
  const clock = new TestClock();
  const listeners: Listener[] = [];
  const own = createOwnListeners(clock, () => listeners);
  const address = parseIP('127.0.0.1')!;
  t.notOk(own.has(address, 8053));
  listeners.push(ADMIN);
  clock.advance(1000);
  t.ok(own.has(address, 8053));
});
