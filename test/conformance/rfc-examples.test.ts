/**
 * The examples of RFC 4592 §2.2.1, RFC 6672 §2.2 and RFC 2308 as tables: the query, and the answer that the RFC gives.
 */
import t from 'tap';
import { Transport } from '../../src/answer/transport.js';
import { Rcode, Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { type DecodedMessage, decodeMessage, makeQuery } from '../support/message.js';
import { serveZones } from '../support/served-zones.js';

type Ask = (name: string, type: number) => DecodedMessage;

function serve(apex: string, text: string): Ask {
  const { answer, refused } = serveZones([{ apex, text: `$ORIGIN ${apex}\n${text}` }]);
  for (const reason of refused.values()) throw new Error(reason);
  const out = Buffer.alloc(4096);
  return (name, type) => {
    const query = makeQuery(parseName(name), type);
    const length = answer(query, 0, query.length, out, 0, out.length, Transport.tcp);
    return decodeMessage(Buffer.from(out.subarray(0, length)));
  };
}

const owners = (records: DecodedMessage['answer']): string[] => records.map(({ owner }) => owner);
const types = (records: DecodedMessage['answer']): number[] => records.map(({ type }) => type);

t.test('RFC 4592 §2.2.1: the use of a wildcard', async (t) => {
  const ask = serve(
    'example.',
    `example. 3600 IN SOA ns.example.com. hostmaster.example.com. 1 3600 600 86400 3600
example. 3600 NS ns.example.com.
example. 3600 NS ns.example.net.
*.example. 3600 TXT "this is a wildcard"
*.example. 3600 MX 10 host1.example.
sub.*.example. 3600 TXT "this is not a wildcard"
host1.example. 3600 A 192.0.2.1
_ssh._tcp.host1.example. 3600 SRV 0 0 22 host1.example.
_ssh._tcp.host2.example. 3600 SRV 0 0 22 host2.example.
subdel.example. 3600 NS ns.example.com.
subdel.example. 3600 NS ns.example.net.
`,
  );
  const rows: readonly (readonly [name: string, type: number, rcode: number, answers: number, why: string])[] = [
    ['host3.example.', Type.mx, Rcode.noError, 1, 'host3 is synthesized from *.example.'],
    ['host3.example.', Type.a, Rcode.noError, 0, 'no A at *.example., so no data'],
    ['foo.bar.example.', Type.txt, Rcode.noError, 1, 'bar.example. does not exist, so the wildcard covers it'],
    ['host1.example.', Type.mx, Rcode.noError, 0, 'host1.example. exists'],
    ['sub.*.example.', Type.mx, Rcode.noError, 0, 'sub.*.example. exists'],
    ['sub.*.example.', Type.txt, Rcode.noError, 1, 'and is not a wildcard'],
    ['_telnet._tcp.host1.example.', Type.srv, Rcode.nxDomain, 0, '_tcp.host1.example. exists without data'],
    ['host.subdel.example.', Type.a, Rcode.noError, 0, 'subdel.example. is a cut'],
    ['ghost.*.example.', Type.mx, Rcode.nxDomain, 0, '*.example. exists'],
    ['_tcp.host2.example.', Type.srv, Rcode.noError, 0, 'an empty non-terminal'],
    ['host2.example.', Type.mx, Rcode.noError, 0, 'an empty non-terminal, too'],
  ];
  for (const [name, type, rcode, answers, why] of rows) {
    const found = ask(name, type);
    t.match([found.rcode, found.answer.length], [rcode, answers], `${name} ${type}: ${why}`);
    t.ok(
      found.answer.every(({ owner }) => owner.toLowerCase() === name),
      'the owner is what was asked',
    );
  }
  const referral = ask('host.subdel.example.', Type.a);
  t.notOk(referral.aa, 'a referral is not authoritative');
  t.strictSame(owners(referral.authority), ['subdel.example.', 'subdel.example.']);
});

t.test('RFC 6672 §2.2 table 1: names below a DNAME', async (t) => {
  const rows: readonly (readonly [name: string, owner: string, target: string, result: string | undefined])[] = [
    ['com.', 'example.com.', 'example.net.', undefined],
    ['example.com.', 'example.com.', 'example.net.', undefined],
    ['a.example.com.', 'example.com.', 'example.net.', 'a.example.net.'],
    ['a.b.example.com.', 'example.com.', 'example.net.', 'a.b.example.net.'],
    ['ab.example.com.', 'b.example.com.', 'example.net.', undefined],
    ['foo.example.com.', 'example.com.', 'example.net.', 'foo.example.net.'],
    ['a.x.example.com.', 'x.example.com.', 'example.net.', 'a.example.net.'],
    ['a.example.com.', 'example.com.', 'y.example.net.', 'a.y.example.net.'],
    ['cyc.example.com.', 'example.com.', 'example.com.', 'cyc.example.com.'],
    ['cyc.example.com.', 'example.com.', 'c.example.com.', 'cyc.c.example.com.'],
    ['shortloop.x.x.', 'x.', '.', 'shortloop.x.'],
    ['shortloop.x.', 'x.', '.', 'shortloop.'],
  ];
  for (const [name, owner, target, result] of rows) {
    const apex = owner.endsWith('com.') ? 'com.' : 'x.';
    const soa = '@ 60 IN SOA ns.example.org. h.example.org. 1 2 3 4 60\n@ 60 NS ns.example.org.\n';
    const found = serve(apex, `${soa}${owner} 60 DNAME ${target}\n`)(name, Type.a);
    const row = `${name} under ${owner} DNAME ${target}`;
    if (result === undefined) {
      t.notOk(types(found.answer).includes(Type.dname), row);
      continue;
    }
    t.strictSame(types(found.answer).slice(0, 2), [Type.dname, Type.cname], `${row}: the DNAME, then what it makes`);
    t.equal(found.answer[1]!.owner, name, row);
    t.equal(found.answer[1]!.rdata, Buffer.from(parseName(result)).toString('hex'), row);
  }
});

t.test(
  'RFC 6672 §3.2: a DNAME to a name above the zone may lead into the zone again, as NSD, Knot and BIND have it',
  async (t) => {
    const rows: readonly (readonly [
      apex: string,
      rest: string,
      name: string,
      aliases: string[],
      authority: number[],
    ])[] = [
      ['uni.com.', '@ 60 DNAME com.\n@ 60 A 192.0.2.1\n', 'uni.uni.uni.com.', ['uni.uni.uni.com.', 'uni.uni.com.'], []],
      ['uni.com.', '@ 60 DNAME com.\n', 'x.UNI.uni.com.', ['x.uni.uni.com.', 'x.uni.com.'], []],
      ['uni.com.', '@ 60 DNAME com.\n', 'xuni.uni.com.', ['xuni.uni.com.'], []],
      ['uni.com.', '@ 60 DNAME com.\n', 'uni.uni.com.', ['uni.uni.com.'], [Type.soa]],
      ['b.test.', 'd 60 DNAME test.\nx 60 A 192.0.2.2\n', 'x.b.d.b.test.', ['x.b.d.b.test.'], []],
      ['w.org.', '@ 60 DNAME .\n', 'x.w.org.w.org.', ['x.w.org.w.org.', 'x.w.org.'], []],
      ['w.org.', '@ 60 DNAME .\n', 'x.v.org.w.org.', ['x.v.org.w.org.'], []],
    ];
    const soa = '@ 60 IN SOA ns.example.org. h.example.org. 1 2 3 4 60\n@ 60 NS ns.example.org.\n';
    for (const [apex, rest, name, aliases, authority] of rows) {
      const found = serve(apex, soa + rest)(name, Type.a);
      const made = found.answer.filter(({ type }) => type === Type.cname).map(({ owner }) => owner.toLowerCase());
      t.strictSame(made, aliases, `${name} in ${apex}`);
      t.strictSame(types(found.authority), authority, `${name} in ${apex}`);
    }
  },
);

t.test('RFC 6672 §2.2: a resulting name that is too long', async (t) => {
  const long = Array.from({ length: 3 }, () => 'l'.repeat(63)).join('.');
  const text = '@ 60 SOA ns h 1 2 3 4 60\n@ 60 NS ns.example.net.\nd 60 DNAME target.example.net.\n';
  const ask = serve('example.', `${text}\n`);
  const found = ask(`${long}.${'s'.repeat(45)}.d.example.`, Type.a);
  t.equal(found.rcode, Rcode.yxDomain);
  t.strictSame(types(found.answer), [Type.dname]);
  t.equal(ask(`${long}.${'s'.repeat(30)}.d.example.`, Type.a).rcode, Rcode.noError);
});

t.test('RFC 2308 §2, §3: negative answers', async (t) => {
  const zone = (ttl: number, minimum: number): string => `@ ${ttl} SOA ns1.xx. hostmaster.ns1.xx. 1 2 3 4 ${minimum}
@ 900 NS ns1.xx.
@ 900 NS ns2.xx.
ns1 900 A 127.0.0.2
ns2 900 A 127.0.0.3
tripple 900 MX 5 ns1.xx.
an 900 CNAME gone.xx.
out 900 CNAME tripple.yy.
empty 900 CNAME tripple.xx.
`;
  for (const [ttl, minimum] of [
    [7200, 1200],
    [600, 1200],
  ] as const) {
    const ask = serve('xx.', zone(ttl, minimum));
    const least = Math.min(ttl, minimum);
    const rows: readonly (readonly [
      name: string,
      type: number,
      rcode: number,
      answers: readonly number[],
      soa: boolean,
    ])[] = [
      ['nothing.xx.', Type.a, Rcode.nxDomain, [], true],
      ['tripple.xx.', Type.a, Rcode.noError, [], true],
      ['an.xx.', Type.a, Rcode.nxDomain, [Type.cname], true],
      ['empty.xx.', Type.a, Rcode.noError, [Type.cname], true],
      ['out.xx.', Type.a, Rcode.noError, [Type.cname], false],
      ['xx.', Type.mx, Rcode.noError, [], true],
    ];
    for (const [name, type, rcode, answers, soa] of rows) {
      const found = ask(name, type);
      t.strictSame([found.rcode, types(found.answer)], [rcode, answers], `${name} ${type}`);
      t.ok(found.aa, `${name} ${type}`);
      t.strictSame(
        found.authority.map((record) => [record.type, record.ttl]),
        soa ? [[Type.soa, least]] : [],
        `${name} ${type}: the SOA with the lower of its TTL and its minimum`,
      );
    }
    t.equal(ask('xx.', Type.soa).answer[0]?.ttl, ttl, 'asked for, it has its own');
  }
});
