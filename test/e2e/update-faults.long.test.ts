/** Dynamic updates that are forged, late or cut, and an admin process that is killed among them. */
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t from 'tap';
import { sleep } from '../../src/base/clock.js';
import { MessageWriter } from '../../src/dns/message-writer.js';
import { parseName } from '../../src/dns/name.js';
import { signMessage, type TsigKey } from '../../src/dns/tsig.js';
import { TLS_CERTIFICATE, TLS_KEY } from '../server/tls-credentials.js';
import { freePort } from '../support/free-ports.js';
import { childOf } from '../support/program.js';
import { seededRandom } from '../support/seeded-random.js';
import { APEX, copyOf, SECRET, startWorld } from '../support/update-world.js';

const SIGNER: TsigKey = {
  name: parseName('update.test.'),
  algorithm: 'hmac-sha256',
  secret: new Uint8Array(Buffer.from(SECRET, 'base64')),
};
const PYTHON = '/usr/bin/python3';
const MODULE = '/usr/lib/python3/dist-packages/dns';
const withoutPython = !existsSync(MODULE) && process.env['CI'] !== 'true' ? `not installed: ${MODULE}` : false;
/** Updates that are acknowledged before the test ends. */
const LEAST = 40;

/** Sends messages with dnspython, which checks the answers; prints a line for each. */
const SIGNATURES = `
import base64, socket, sys, time
import dns.exception, dns.message, dns.rcode, dns.tsigkeyring, dns.update
port, secret = int(sys.argv[1]), sys.argv[2]
ring = dns.tsigkeyring.from_text({'update.test.': secret})
def make(text, zone='example.com.', keys=ring):
    signing = {'keyring': keys, 'keyalgorithm': 'hmac-sha256'} if keys else {}
    message = dns.update.Update(zone, **signing)
    message.add('py', 60, 'TXT', text)
    wire = message.to_wire()
    return wire, message.mac
def tell(what, wire, mac):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(60)
        s.sendto(wire, ('127.0.0.1', port))
        try:
            answer = s.recv(65535)
            got = dns.message.from_wire(answer, keyring=ring, request_mac=mac or b'')
            print(what, dns.rcode.to_text(got.rcode()), 'signed' if got.had_tsig else 'unsigned')
        except (dns.exception.DNSException, socket.timeout) as error:
            print(what, type(error).__name__)
def changed(wire, at):
    octets = bytearray(wire)
    octets[at] ^= 1
    return bytes(octets)
other = dns.tsigkeyring.from_text({'update.test.': base64.b64encode(b'x' * 32).decode()})
# A name below the zone is compressed in messages.
nobody = dns.tsigkeyring.from_text({'nobody.example.com.': secret})
good, mac = make('one')
tell('good', good, mac)
tell('replayed', good, mac)
tell('wrong', changed(make('two')[0], -20), mac)
three = make('three')[0]
tell('content', changed(three, three.index(b'three')), mac)
tell('other', *make('four', keys=other))
ring[list(nobody)[0]] = nobody[list(nobody)[0]]
tell('unknown', *make('five', keys=nobody))
real = time.time
for what, seconds in ('late', -3600), ('early', 3600):
    time.time = lambda: real() + seconds
    wire, mac = make('six')
    time.time = real
    tell(what, wire, mac)
tell('cut', good[:-3], mac)
tell('unsigned', *make('seven', keys=None))
tell('below', *make('eight', 'sub.example.com.'))
tell('elsewhere', *make('nine', 'example.org.'))
`;

t.test('signatures that are wrong, late, cut or sent again (dnspython)', { skip: withoutPython }, async (t) => {
  const { program } = await startWorld(t);
  const { stdout } = await promisify(execFile)(PYTHON, ['-c', SIGNATURES, String(program.dnsPort), SECRET]);
  t.strictSame(stdout.trim().split('\n'), [
    'good NOERROR signed',
    'replayed NOERROR signed',
    'wrong PeerBadSignature',
    'content PeerBadSignature',
    'other PeerBadSignature',
    'unknown PeerBadKey',
    'late PeerBadTime',
    'early PeerBadTime',
    'cut FORMERR unsigned',
    'unsigned REFUSED unsigned',
    'below NOTAUTH signed',
    'elsewhere PeerBadKey',
  ]);
  const { records, serial } = await copyOf(program.dnsPort);
  t.strictSame(records.filter((rr) => rr.startsWith('py.')).length, 1, 'one of them was applied');
  t.equal(serial, 2, 'and once');
});

const OVER_TLS = `
import ssl, sys
import dns.exception, dns.query, dns.rcode, dns.tsigkeyring, dns.update
port = int(sys.argv[1])
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
for text in sys.argv[2:]:
    key = {'keyring': dns.tsigkeyring.from_text({'update.test.': text}), 'keyalgorithm': 'hmac-sha256'}
    message = dns.update.Update('example.com.', **key)
    message.add('tls', 60, 'TXT', 'over-tls')
    try:
        print(dns.rcode.to_text(dns.query.tls(message, '127.0.0.1', timeout=60, port=port, ssl_context=context).rcode()))
    except dns.exception.DNSException as error:
        print(type(error).__name__)
`;

t.test('over TLS (dnspython)', { skip: withoutPython }, async (t) => {
  const files = mkdtempSync(join(tmpdir(), 'zoneplane-update-tls-'));
  t.teardown(() => rmSync(files, { recursive: true, force: true }));
  writeFileSync(join(files, 'cert.pem'), TLS_CERTIFICATE);
  writeFileSync(join(files, 'key.pem'), TLS_KEY);
  const port = String(await freePort());
  const { program } = await startWorld(t, {
    ZONEPLANE_DOT_PORT: port,
    ZONEPLANE_TLS_CERT: join(files, 'cert.pem'),
    ZONEPLANE_TLS_KEY: join(files, 'key.pem'),
  });
  const wrong = Buffer.alloc(32).toString('base64');
  const { stdout } = await promisify(execFile)(PYTHON, ['-c', OVER_TLS, port, SECRET, wrong]);
  t.strictSame(stdout.trim().split('\n'), ['NOERROR', 'PeerBadSignature']);
  const { records, serial } = await copyOf(program.dnsPort);
  t.equal(records.filter((rr) => rr.startsWith('tls.')).length, 1);
  t.equal(serial, 2);
});

t.test('kill -9 of the admin process: no update is half done, none that was acknowledged is lost', async (t) => {
  const { program } = await startWorld(t);
  const socket = createSocket('udp4');
  t.teardown(() => void socket.close());
  let heard = (_: Buffer): void => {};
  socket.on('message', (message) => heard(message));
  const random = seededRandom(2136);
  const acknowledged: number[] = [];
  let isKilling = true;
  const killing = (async () => {
    for (let round = 0; round < 6; round++) {
      await sleep(150 + (random.bytes(1)[0]! % 200));
      const admin = childOf(program.child.pid!, 'admin');
      if (admin !== undefined) process.kill(admin, 'SIGKILL');
    }
    isKilling = false;
  })();
  for (let number = 0; isKilling || acknowledged.length < LEAST; number++) {
    const message = pairOf(number);
    // The same octets again until there is an answer, as clients do over UDP.
    for (let attempt = 0; attempt < 600; attempt++) {
      const answer = new Promise<Buffer | undefined>((resolve) => {
        heard = (octets) => octets.readUInt16BE(0) === (number & 0xffff) && resolve(octets);
        setTimeout(() => resolve(undefined), 100).unref();
      });
      socket.send(message, program.dnsPort, '127.0.0.1');
      const rcode = (await answer)?.[3];
      if (rcode === undefined || (rcode & 15) === 2) continue;
      if ((rcode & 15) === 0) acknowledged.push(number);
      else t.fail(`update ${number} was answered with ${rcode & 15}`);
      break;
    }
  }
  await killing;
  const { records } = await copyOf(program.dnsPort);
  const has = (number: number, type: number): boolean =>
    records.some((rr) => rr.startsWith(`n${number}.example.com. 60 ${type} `));
  const half = acknowledged.filter((number) => has(number, 1) !== has(number, 16));
  t.strictSame(half, []);
  t.strictSame(
    acknowledged.filter((number) => !has(number, 1)),
    [],
  );
  t.ok(acknowledged.length >= LEAST, `${acknowledged.length} were acknowledged`);
});

/** An update that adds two records at a name that does not exist; sent again, its prerequisite would fail. */
function pairOf(number: number): Uint8Array {
  const writer = new MessageWriter(1024);
  const owner = parseName(`n${number}.example.com.`);
  writer.begin(number & 0xffff, 0x2800, { name: APEX, type: 6, class: 1 });
  writer.add('answer', owner, 255, 0, new Uint8Array(0), 254);
  writer.add('authority', owner, 1, 60, Uint8Array.of(192, 0, 2, number & 255));
  writer.add('authority', owner, 16, 60, Uint8Array.of(1, 0x61));
  return signMessage(writer.finish(), SIGNER, { time: Math.floor(Date.now() / 1000) }).message;
}
