/** Record types: vectors, properties over random rdata, and comparison with BIND and another codec. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isIPv6 } from 'node:net';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import t from 'tap';
import { toHex } from '../../src/base/bytes.js';
import { parseIPv6, printIP } from '../../src/base/ip.js';
import { domainToAscii, domainToUnicode, labelToAscii } from '../../src/dns/idna.js';
import { lowerName, parseName, printName, ROOT } from '../../src/dns/name.js';
import { PresentationError, TokenCursor } from '../../src/dns/presentation.js';
import { octetsOfText, textOfOctets } from '../../src/dns/rr/octet-text.js';
import { parseRdata, printRdata, TYPES, typeByCode, typeByMnemonic, typeMnemonic } from '../../src/dns/rr/registry.js';
import { type ApiInput, RdataError, type RRType } from '../../src/dns/rr/type.js';
import { anyName, hostName, rdataArbitraries } from './rr-arbitraries.js';

const VECTORS = resolve(fileURLToPath(import.meta.url), '../../../../test/vectors/rr');
const ORIGIN = parseName('example.com.');

interface Vector {
  readonly type: RRType;
  readonly line: string;
  /** `''` good, `ours` good but not for BIND, `bad`, `strict` bad but not for BIND, `api`, `api-bad`. */
  readonly kind: string;
  readonly columns: readonly string[];
}

/** Lines of all vector files; the first column is latin1 (octets of a zone file), the others are UTF-8. */
function readVectors(): Vector[] {
  return readdirSync(VECTORS).flatMap((file) => {
    const type = typeByMnemonic(file.replace(/\.txt$/, ''))!;
    const lines = readFileSync(join(VECTORS, file), 'latin1').split('\n');
    return lines
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const [, kind = '', rest = ''] = /^(?:(ours|bad|strict|api|api-bad): )?(.*)$/s.exec(line)!;
        const [first = '', ...others] = rest.split(' | ');
        const utf8 = (text: string): string => Buffer.from(text, 'latin1').toString('utf8');
        return { type, line, kind, columns: [kind.startsWith('api') ? utf8(first) : first, ...others.map(utf8)] };
      });
  });
}

const ALL_VECTORS = readVectors();
const vectors = (...kinds: string[]): Vector[] => ALL_VECTORS.filter(({ kind }) => kinds.includes(kind));

/** What a refusal looked like; a string that no test expects when there was none. */
function refusal(action: () => unknown): unknown {
  try {
    return `accepted: ${JSON.stringify(action())}`;
  } catch (error) {
    return error;
  }
}

/** `data` and, as `@priority`, the priority beside it. */
function structured(type: RRType, rdata: Uint8Array, content: string): unknown {
  const { data, priority } = type.toApi(rdata, content);
  if (data === undefined) return priority === undefined ? undefined : { priority };
  return priority === undefined ? data : { ...data, '@priority': priority };
}

t.test('registry', async (t) => {
  t.equal(typeByMnemonic('aaaa'), typeByCode(28));
  t.equal(typeByMnemonic('type28'), typeByCode(28));
  t.equal(typeByMnemonic('TYPE65280'), typeByCode(65280), 'unknown types are made once');
  t.equal(typeByCode(65280).mnemonic, 'TYPE65280');
  t.equal(typeMnemonic(16), 'TXT');
  t.equal(typeMnemonic(252), 'AXFR');
  for (const word of [
    'ANY',
    'AXFR',
    'IXFR',
    'OPT',
    'TSIG',
    'TYPE255',
    'TYPE41',
    'TYPE0',
    'TYPE65536',
    'FOO',
    '',
    'TYPE',
  ]) {
    t.equal(typeByMnemonic(word), undefined, word);
  }
  t.equal(new Set(TYPES.map(({ code }) => code)).size, TYPES.length, 'numbers are unique');
  t.equal(new Set(TYPES.map(({ mnemonic }) => mnemonic)).size, TYPES.length, 'mnemonics are unique');
  t.same(
    TYPES.map(({ code }) => code),
    TYPES.map(({ code }) => code).sort((a, b) => a - b),
    'in order',
  );
  const creatable = TYPES.filter((type) => type.creatable).map(({ mnemonic }) => mnemonic);
  const contract =
    'A AAAA CAA CERT CNAME DNSKEY DS HTTPS LOC MX NAPTR NS OPENPGPKEY PTR SMIMEA SRV SSHFP SVCB TLSA TXT URI';
  t.same(creatable.sort(), contract.split(' '), 'v4 §5.2');
  const contentOnly = TYPES.filter((type) => type.creatable && type.data.length === 0).map(({ mnemonic }) => mnemonic);
  t.same(contentOnly.sort(), ['A', 'AAAA', 'CNAME', 'MX', 'NS', 'OPENPGPKEY', 'PTR', 'TXT'], 'v4 §5.4');
  t.same(
    typeByMnemonic('URI')!.data.map(({ name }) => name),
    ['weight', 'target'],
  );
});

t.test('vectors', async (t) => {
  t.ok(ALL_VECTORS.length > 400, 'vectors were found');
  for (const type of TYPES) {
    t.ok(
      ALL_VECTORS.some((vector) => vector.type === type),
      `${type.mnemonic} has vectors`,
    );
  }
  for (const { type, line, columns } of vectors('', 'ours')) {
    const [text, wire, content, data] = columns as [string, string, string, string | undefined];
    const rdata = parseRdata(type.code, text, ORIGIN);
    t.equal(toHex(rdata), wire, line);
    type.check(rdata);
    t.equal(type.contentOf(rdata), content, `${line}: content`);
    t.same(structured(type, rdata, content), data === undefined ? undefined : JSON.parse(data), `${line}: data`);
  }
  for (const { type, line, columns } of vectors('bad', 'strict')) {
    const error = refusal(() => parseRdata(type.code, columns[0]!, ORIGIN));
    t.type(error, PresentationError, line);
    t.match(error, { message: columns[1], line: 1 }, line);
    t.ok((error as PresentationError).column >= 1, 'has a position');
  }
});

t.test('v4 forms', async (t) => {
  for (const { type, line, columns } of vectors('api')) {
    const [input, wire, content, data] = columns as [string, string, string, string | undefined];
    const result = type.fromApi(JSON.parse(input), ORIGIN);
    t.equal(toHex(result.rdata), wire, line);
    t.equal(result.content, content, `${line}: content`);
    t.same(structured(type, result.rdata, content), data === undefined ? undefined : JSON.parse(data), `${line}: data`);
  }
  for (const { type, line, columns } of vectors('api-bad')) {
    const [input, code, pointer, message] = columns as [string, string, string, string];
    const error = refusal(() => type.fromApi(JSON.parse(input), ORIGIN));
    t.type(error, RdataError, line);
    t.match(error, { message, code: Number(code), pointer }, line);
  }
});

t.test('TXT limits of the v4 API', async (t) => {
  const txt = typeByMnemonic('TXT')!;
  const long = txt.fromApi({ content: 'k'.repeat(600) }, ORIGIN);
  t.same([long.rdata[0], long.rdata[256], long.rdata[512], long.rdata.length], [255, 255, 90, 603]);
  t.equal(long.content, 'k'.repeat(600), 'kept as sent');
  t.equal(txt.contentOf(long.rdata), `"${'k'.repeat(255)}" "${'k'.repeat(255)}" "${'k'.repeat(90)}"`);
  t.equal(txt.fromApi({ content: 'é'.repeat(2048) }, ORIGIN).rdata.length, 4096 + 17);
  t.match(
    refusal(() => txt.fromApi({ content: `${'é'.repeat(2048)}x` }, ORIGIN)),
    { code: 9051, pointer: '/content' },
  );
  t.match(
    refusal(() => txt.fromApi({ content: '"'.repeat(600_000) }, ORIGIN)),
    { message: /more than 4096 strings/ },
    'however many empty strings',
  );
  t.equal(txt.fromApi({ content: `"${'k'.repeat(300)}"` }, ORIGIN).rdata.length, 302, 'long quoted text is split');
  const key = (content: string): string => toHex(txt.duplicateKey(txt.fromApi({ content }, ORIGIN).rdata));
  t.equal(key('ab'), key('"a" "b"'), 'joined octets find duplicates');
  t.not(key('ab'), key('"a b"'));
});

t.test('names inside rdata', async (t) => {
  const facts = (mnemonic: string, text: string): unknown => {
    const type = typeByMnemonic(mnemonic)!;
    const rdata = parseRdata(type.code, text, ROOT);
    return type.names(rdata).map(({ at, length, compress, additional }) => {
      return [printName(rdata.subarray(at, at + length)), compress, additional];
    });
  };
  t.same(facts('MX', '10 Mail.example.'), [['Mail.example.', true, true]]);
  t.same(facts('NS', 'ns.example.'), [['ns.example.', true, true]]);
  t.same(facts('SOA', 'a. b. 1 1 1 1 1'), [
    ['a.', true, false],
    ['b.', true, false],
  ]);
  t.same(facts('SRV', '1 2 3 host.'), [['host.', false, true]]);
  t.same(facts('NAPTR', '1 2 a b c host.'), [['host.', false, true]]);
  t.same(facts('HTTPS', '1 host. alpn=h2'), [['host.', false, true]]);
  t.same(facts('DNAME', 'd.'), [['d.', false, false]]);
  t.same(facts('TXT', 'a'), []);
  const compressed = TYPES.filter((type) => {
    const vector = vectors('').find((each) => each.type === type)!;
    return type.names(parseRdata(type.code, vector.columns[0]!, ORIGIN)).some(({ compress }) => compress);
  }).map(({ mnemonic }) => mnemonic);
  t.same(compressed, ['NS', 'MD', 'MF', 'CNAME', 'SOA', 'MB', 'MG', 'MR', 'PTR', 'MINFO', 'MX'], 'RFC 3597 §4');
});

t.test('canonical form', async (t) => {
  const lowered = (mnemonic: string, text: string): boolean => {
    const type = typeByMnemonic(mnemonic)!;
    const rdata = parseRdata(type.code, text, ROOT);
    const canonical = type.canonical(rdata);
    if (toHex(canonical) === toHex(rdata)) return false;
    t.same(canonical, parseRdata(type.code, text.toLowerCase(), ROOT), `${mnemonic} ${text}`);
    return true;
  };
  const name = 'Host.EXAMPLE.';
  for (const mnemonic of ['NS', 'MD', 'MF', 'CNAME', 'MB', 'MG', 'MR', 'PTR', 'DNAME']) t.ok(lowered(mnemonic, name));
  for (const mnemonic of ['MX', 'AFSDB', 'RT', 'KX']) t.ok(lowered(mnemonic, `1 ${name}`), mnemonic);
  t.ok(lowered('SOA', `${name} ${name} 1 1 1 1 1`));
  t.ok(lowered('RP', `${name} ${name}`));
  t.ok(lowered('MINFO', `${name} ${name}`));
  t.ok(lowered('PX', `1 ${name} ${name}`));
  t.ok(lowered('SRV', `1 2 3 ${name}`));
  t.ok(lowered('NAPTR', `1 2 a b c ${name}`));
  t.ok(lowered('RRSIG', `a 5 3 86400 1 1 1 ${name} 0000`));
  t.notOk(lowered('NSEC', `${name} A`), 'RFC 6840 §5.1');
  t.notOk(lowered('SVCB', `1 ${name}`));
  t.notOk(lowered('LP', `1 ${name}`));
  t.notOk(lowered('TXT', name));
  const mx = typeByMnemonic('MX')!;
  const key = (text: string): string => toHex(mx.duplicateKey(parseRdata(mx.code, text, ROOT)));
  t.equal(key('1 Mail.Example.'), key('1 mail.example.'));
  t.not(key('1 mail.example.'), key('2 mail.example.'));
});

const RANDOM = rdataArbitraries(anyName);
const HOSTED = rdataArbitraries(hostName);
const RUNS = { numRuns: 60, seed: 7 };

t.test('every type: wire → print → parse → wire', async (t) => {
  for (const type of TYPES) {
    const arbitrary = RANDOM[type.mnemonic];
    if (!arbitrary) {
      t.fail(`no random rdata for ${type.mnemonic}`);
      continue;
    }
    const property = fc.property(arbitrary, (rdata) => {
      type.check(rdata);
      const text = type.print(rdata);
      assert.equal(toHex(parseRdata(type.code, text, ORIGIN)), toHex(rdata), text);
      const unknown = `\\# ${rdata.length} ${toHex(rdata)}`;
      assert.equal(toHex(parseRdata(type.code, unknown, ORIGIN)), toHex(rdata), unknown);
      const canonical = type.canonical(rdata);
      assert.equal(toHex(type.canonical(canonical)), toHex(canonical));
      for (const { at, length } of type.names(rdata)) {
        assert.equal(printName(rdata, at).length > 0 && rdata[at + length - 1], 0, 'a name ends in the root');
      }
      type.check(canonical);
    });
    t.doesNotThrow(() => fc.assert(property, RUNS), type.mnemonic);
  }
});

t.test('every type: wire → v4 → JSON → v4 → wire', async (t) => {
  for (const type of TYPES) {
    const arbitrary = HOSTED[type.mnemonic];
    if (!arbitrary || type.mnemonic === 'NULL') continue;
    const property = fc.property(arbitrary, (rdata) => {
      const content = type.contentOf(rdata);
      const answer = JSON.parse(JSON.stringify(type.toApi(rdata, content)));
      const { priority } = answer;
      const byContent = type.fromApi({ content, priority }, ORIGIN);
      assert.equal(toHex(byContent.rdata), toHex(rdata), content);
      assert.equal(byContent.content, content);
      if (!answer.data) return;
      const byData = type.fromApi({ data: answer.data, priority }, ORIGIN);
      assert.equal(toHex(byData.rdata), toHex(rdata), JSON.stringify(answer.data));
      assert.equal(byData.content, content);
    });
    t.doesNotThrow(() => fc.assert(property, RUNS), type.mnemonic);
  }
});

t.test('octets from outside are refused or understood', async (t) => {
  for (const type of TYPES) {
    const damaged = fc
      .tuple(RANDOM[type.mnemonic]!, fc.nat(), fc.nat(255), fc.integer({ min: -3, max: 3 }))
      .map(([rdata, at, octet, grow]) => {
        const out = new Uint8Array(Math.max(0, rdata.length + grow));
        out.set(rdata.subarray(0, out.length));
        if (out.length > 0) out[at % out.length] = octet;
        return out;
      });
    const property = fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 40 })), (rdata) => {
      const error = refusal(() => type.check(rdata));
      if (error instanceof RdataError) return;
      assert.equal(error, 'accepted: undefined');
      const text = type.print(rdata);
      assert.equal(toHex(parseRdata(type.code, text, ORIGIN)), toHex(rdata), text);
    });
    t.doesNotThrow(() => fc.assert(property, { numRuns: 150, seed: 7 }), type.mnemonic);
  }
});

t.test('names and texts outside ASCII', async (t) => {
  t.equal(labelToAscii('bücher'), 'xn--bcher-kva');
  t.equal(labelToAscii('BÜCHER'), 'xn--bcher-kva');
  t.equal(labelToAscii('straße'), 'xn--strae-oqa', 'non-transitional');
  t.equal(domainToAscii('Shop.bücher.example'), 'Shop.xn--bcher-kva.example');
  t.equal(domainToAscii('日本語。jp'), 'xn--wgv71a119e.jp');
  t.equal(domainToUnicode('www.xn--bcher-kva.example'), 'www.bücher.example');
  t.equal(domainToUnicode('xn--a.example'), 'xn--a.example', 'what does not convert back stays');
  for (const ascii of ['1.2', '0x7f.1', '127.1', 'a/b', 'a%62.com', 'a b.com']) t.equal(domainToAscii(ascii), ascii);
  for (const label of ['ü/b', 'ü%62', 'ü b', 'ü:1', 'ü@b', '\u00ad', '℀', 'ü'.repeat(64), 'xn--ü', '\ud800']) {
    t.equal(labelToAscii(label), undefined, label);
  }
  t.equal(labelToAscii('１２７'), '127', 'fullwidth digits are digits, not an address');
  const roundTrip = fc.property(fc.uint8Array({ maxLength: 30 }), (octets) => {
    assert.deepEqual(octetsOfText(JSON.parse(JSON.stringify(textOfOctets(octets)))), octets);
  });
  t.doesNotThrow(() => fc.assert(roundTrip, { numRuns: 500, seed: 7 }));
});

/** The codec of npm's dns-packet, of one type: values of its own shape to and from rdata behind a length. */
interface OtherCodec {
  encode(value: unknown): Uint8Array;
  decode(wire: Uint8Array): unknown;
}

t.test('the same wire form as dns-packet', async (t) => {
  const packet = createRequire(import.meta.url)('dns-packet') as { record(type: string): OtherCodec };
  const bytes = (hexText: string): Buffer => Buffer.from(hexText, 'hex');
  const digest = '2bb183af5f22588179a53b0a98631fad1a292118';
  const cases: [string, ApiInput, unknown][] = [
    ['A', { content: '192.0.2.7' }, '192.0.2.7'],
    ['AAAA', { content: '2001:db8::7' }, '2001:db8::7'],
    ['CNAME', { content: 'www.example.net' }, 'www.example.net'],
    ['NS', { content: 'ns.example.net' }, 'ns.example.net'],
    ['PTR', { content: 'host.example.net' }, 'host.example.net'],
    ['DNAME', { data: { target: 'sub.example.net' } }, 'sub.example.net'],
    ['MX', { content: 'mail.example.net', priority: 7 }, { preference: 7, exchange: 'mail.example.net' }],
    ['TXT', { content: '"a b" "\\"c"' }, [Buffer.from('a b'), Buffer.from('"c')]],
    ['SRV', { content: '1 2 3 sip.example.net' }, { priority: 1, weight: 2, port: 3, target: 'sip.example.net' }],
    [
      'CAA',
      { content: '128 issue "ca.example"' },
      { flags: 128, tag: 'issue', value: 'ca.example', issuerCritical: true },
    ],
    ['HINFO', { data: { cpu: 'vax', os: 'unix' } }, { cpu: 'vax', os: 'unix' }],
    ['RP', { data: { mailbox: 'a.example', text: 'b.example' } }, { mbox: 'a.example', txt: 'b.example' }],
    ['DS', { content: `60485 5 1 ${digest}` }, { keyTag: 60485, algorithm: 5, digestType: 1, digest: bytes(digest) }],
    ['DNSKEY', { content: '257 3 13 AwEAAbSi' }, { flags: 257, algorithm: 13, key: Buffer.from('AwEAAbSi', 'base64') }],
    ['SSHFP', { content: `4 1 ${digest}` }, { algorithm: 4, hash: 1, fingerprint: digest.toUpperCase() }],
    ['TLSA', { content: `3 1 1 ${digest}` }, { usage: 3, selector: 1, matchingType: 1, certificate: bytes(digest) }],
    [
      'NAPTR',
      { content: '100 10 "S" "SIP+D2U" "!^.*$!sip:info@example.com!" r.example' },
      {
        order: 100,
        preference: 10,
        flags: 'S',
        services: 'SIP+D2U',
        regexp: '!^.*$!sip:info@example.com!',
        replacement: 'r.example',
      },
    ],
    [
      'SOA',
      { content: 'ns.example. host.example. 5 3600 600 86400 300' },
      {
        mname: 'ns.example',
        rname: 'host.example',
        serial: 5,
        refresh: 3600,
        retry: 600,
        expire: 86400,
        minimum: 300,
      },
    ],
    [
      'NSEC',
      { content: 'b.example A MX RRSIG NSEC CAA' },
      { nextDomain: 'b.example', rrtypes: ['A', 'MX', 'RRSIG', 'NSEC', 'CAA'] },
    ],
    [
      'NSEC3',
      { content: '1 1 12 aabbccdd 2t7b4g4vsa5smi47k61mv5bv1a22bojr NS SOA' },
      {
        algorithm: 1,
        flags: 1,
        iterations: 12,
        salt: bytes('aabbccdd'),
        nextDomain: bytes('174eb2409fe28bcb4887a1836f957f0a8425e27b'),
        rrtypes: ['NS', 'SOA'],
      },
    ],
    [
      'RRSIG',
      { content: 'A 5 3 86400 20030322173103 20030220173103 2642 example.com AwEAAbSi' },
      {
        typeCovered: 'A',
        algorithm: 5,
        labels: 3,
        originalTTL: 86400,
        expiration: 1048354263,
        inception: 1045762263,
        keyTag: 2642,
        signersName: 'example.com',
        signature: Buffer.from('AwEAAbSi', 'base64'),
      },
    ],
  ];
  for (const [mnemonic, input, value] of cases) {
    const { rdata } = typeByMnemonic(mnemonic)!.fromApi(input, ROOT);
    const other = packet.record(mnemonic);
    t.equal(toHex(new Uint8Array(other.encode(value)).subarray(2)), toHex(rdata), `${mnemonic} encoded`);
    const framed = Buffer.concat([Buffer.of(rdata.length >> 8, rdata.length & 0xff), rdata]);
    t.match(other.decode(framed), value as object, `${mnemonic} decoded`);
  }
});

/** Rdata in hexadecimal as BIND reads a presentation form; undefined when BIND refuses it. */
function readByBind(mnemonic: string, text: string): Promise<string | undefined> {
  return new Promise((done) => {
    const child = execFile('named-rrchecker', ['-u', '-o', 'example.com.'], { encoding: 'latin1' }, (error, stdout) => {
      const match = /\\# \d+\s*(?:\( )?([0-9A-F ]*)/.exec(stdout);
      done(error || !match ? undefined : match[1]!.replaceAll(' ', '').toLowerCase());
    });
    child.stdin!.on('error', () => {});
    child.stdin!.end(Buffer.from(`IN ${mnemonic} ${text}\n`, 'latin1'));
  });
}

t.test('BIND reads the same input and our output', async (t) => {
  if ((await readByBind('A', '192.0.2.1')) !== 'c0000201') {
    if (process.env['CI'] === 'true') t.fail('named-rrchecker (bind9-utils) is missing');
    else t.pass('BIND', { skip: 'named-rrchecker (bind9-utils) is not installed' });
    return;
  }
  const compare = async ({ type, kind, line, columns }: Vector): Promise<void> => {
    const [text, wire] = columns as [string, string];
    const theirs = await readByBind(type.mnemonic, text);
    if (kind === 'bad' || kind === 'ours') t.equal(theirs, undefined, `BIND refuses ${line}`);
    else if (kind === 'strict') t.not(theirs, undefined, `BIND takes ${line}`);
    else t.equal(theirs, wire, line);
    if (kind !== '' && kind !== 'ours') return;
    const printed = printRdata(type.code, parseRdata(type.code, text, ORIGIN));
    t.equal(await readByBind(type.mnemonic, printed), wire, `printed: ${printed}`);
  };
  const queue = vectors('', 'ours', 'bad', 'strict');
  const worker = async (): Promise<void> => {
    for (let next = queue.pop(); next; next = queue.pop()) await compare(next);
  };
  await Promise.all([worker(), worker(), worker()]);
});

t.test('service parameters whose quoted value is a separate token', async (t) => {
  const word = { text: 'alpn=', quoted: false, line: 3, column: 10 };
  const read = (column: number): string => {
    const value = { text: 'h2,h3', quoted: true, line: 3, column };
    const head = ['1', '.'].map((text, i) => ({ text, quoted: false, line: 3, column: 1 + 2 * i }));
    return toHex(typeByMnemonic('HTTPS')!.parse(new TokenCursor([...head, word, value]), ROOT));
  };
  t.equal(read(15), '00010000010006026832026833');
  t.match(
    refusal(() => read(16)),
    { message: 'service parameter must not be quoted', line: 3, column: 16 },
  );
});

t.test("IPv6 addresses like the platform's parser", async (t) => {
  const piece = fc.constantFrom(':', '::', '0', '1', 'ab', 'FFFF', '12345', '1.2.3.4', '.', 'g');
  const text = fc.oneof(
    fc.ipV6(),
    fc.array(piece, { maxLength: 16 }).map((pieces) => pieces.join('')),
  );
  const property = fc.property(text, (address) => {
    const octets = parseIPv6(address);
    assert.equal(octets !== undefined, isIPv6(address), address);
    const canonical = (each: string): string => new URL(`http://[${each}]/`).hostname;
    if (octets) assert.equal(canonical(printIP(octets)), canonical(address));
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: 3000, seed: 7 }));
});

t.test('host names in lower case', async (t) => {
  const property = fc.property(anyName, (name) => {
    const cname = typeByMnemonic('CNAME')!;
    assert.deepEqual(parseName(`${cname.contentOf(name)}${name.length > 1 ? '.' : ''}`), lowerName(name));
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: 300, seed: 7 }));
});
